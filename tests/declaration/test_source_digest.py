"""A function's digest changes with every module of the repository that it can import, and with no other."""

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

from graph_compiler.declaration import functions as module
from graph_compiler.declaration.functions import source_digest

FILES = {
    "shop/__init__.py": "",
    "shop/steps.py": (
        "import json\nfrom importlib import import_module\nfrom shop import rates\nfrom . import deep\n"
        "z = import_module('shop.by_name').z + import_module('.beside', __package__).z\n"
        "if not z:\n    import_module('/etc/hosts')\n"
    ),
    "shop/rates.py": "from lib.money import cents\n",
    "shop/deep/__init__.py": "from .below import x\n",
    "shop/deep/below.py": "x = 1\n",
    "shop/by_name.py": "z = 1\n",
    "shop/beside.py": "z = 2\n",
    "shop/unrelated.py": "y = 1\n",
    "lib/__init__.py": "",
    "lib/money.py": "cents = 100\n",
}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("shop.steps")
    yield tmp_path
    for name in [name for name in sys.modules if name.split(".")[0] in ("shop", "lib")]:
        del sys.modules[name]
    source_digest.cache_clear()


def digest() -> str:
    source_digest.cache_clear()
    return source_digest("shop.steps")


@pytest.mark.parametrize("changed", [name for name in FILES if "unrelated" not in name])
def test_a_change_in_an_imported_module_changes_the_digest(repository: Path, changed: str) -> None:
    before = digest()
    (repository / changed).write_text("# another\n" + FILES[changed])
    assert digest() != before


def test_an_unrelated_change_keeps_the_digest(repository: Path) -> None:
    before = digest()
    (repository / "shop/unrelated.py").write_text("y = 2\n")
    assert digest() == before


def test_the_digest_does_not_depend_on_the_location_of_the_repository(repository: Path, tmp_path: Path) -> None:
    before = digest()
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    for name in ("shop", "lib"):
        (repository / name).rename(moved / name)
    sys.modules["shop.steps"].__file__ = str(moved / "shop" / "steps.py")
    assert digest() == before


@pytest.mark.parametrize("installed", ["json", "json.decoder", "pydantic.main"])
def test_outside_a_repository_only_the_module_itself_counts(installed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    importlib.import_module(installed)
    monkeypatch.delattr(module, "_imported")
    source_digest.cache_clear()
    assert source_digest(installed) != source_digest(json.encoder.__name__)


def test_a_change_in_an_archive_changes_the_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for number, rate in enumerate(("1", "2", "1")):
        path = tmp_path / f"packed-{number}.zip"
        with ZipFile(path, "w") as archive:
            archive.writestr("packed/__init__.py", "")
            archive.writestr("packed/steps.py", "from packed.rates import RATE\n")
            archive.writestr("packed/rates.py", f"RATE = {rate}\n")
        with monkeypatch.context() as patch:
            patch.syspath_prepend(path)
            importlib.import_module("packed.steps")
            source_digest.cache_clear()
            found.append(source_digest("packed.steps"))
        for name in [name for name in sys.modules if name.split(".")[0] == "packed"]:
            del sys.modules[name]
    assert found[0] == found[2] != found[1]
