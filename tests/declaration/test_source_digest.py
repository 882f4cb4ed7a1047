"""A function's digest changes with every module of the repository that it can import, and with no other."""

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from graph_compiler.declaration import functions as module
from graph_compiler.declaration.functions import source_digest

FILES = {
    "shop/__init__.py": "",
    "shop/steps.py": "import json\nfrom shop import rates\nfrom . import deep\n",
    "shop/rates.py": "from lib.money import cents\n",
    "shop/deep/__init__.py": "from .below import x\n",
    "shop/deep/below.py": "x = 1\n",
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
