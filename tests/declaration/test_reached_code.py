"""What modules reach: files wherever they lie, and installed packages by version and build."""

import importlib
import shutil
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from graph_compiler.declaration import reached_code as module
from graph_compiler.declaration.reached_code import (
    InstalledPackage,
    ReachedCode,
    UnknownCodeError,
    own_code,
    reached_code,
)

FILES = {
    "project/till_shop/__init__.py": "",
    "project/till_shop/steps.py": (
        "import json\nfrom till_rates import rate\nimport till_coins.small as small\n"
        "from importlib import import_module\n"
        "def price():\n    from . import late\n    import_module('till_plugins.one')\n"
        "    import_module('.sibling', __package__)\n"
    ),
    "project/till_shop/late.py": "from till_names.inner import x\nimport till_missing\n",
    "project/till_shop/sibling.py": "from till_rates.more import *\n",
    "project/till_shop/unrelated.py": "x = 1\n",
    "helpers/till_rates/__init__.py": "rate = 1\n",
    "helpers/till_rates/more/__init__.py": "__all__ = ['deep', 'function']\n",
    "helpers/till_rates/more/deep.py": "x = 1\n",
    "helpers/till_plugins/one.py": "x = 1\n",
    "helpers/till_plugins/other.py": "x = 1\n",
    "names/till_names/inner.py": "x = 1\n",
    "site-packages/till_coins/__init__.py": "import till_unread\n",
    "site-packages/till_coins/small.py": "x = 1\n",
    "site-packages/Till_Coins-1.0.dist-info/METADATA": (
        "Name: Till.Coins\nVersion: 1.0\nRequires-Dist: till-mint (>=1)\n"
        "Requires-Dist: till-fast; extra == 'speed'\nRequires-Dist: till-tests; extra == \"test\"\n"
        "Requires-Dist: till-absent\n"
    ),
    "site-packages/Till_Coins-1.0.dist-info/RECORD": (
        "till_coins/__init__.py,sha256=aa,20\ntill_coins/small.py,sha256=bb,6\n"
        "till_coins/__pycache__/small.pyc,,\n../../bin/coins,sha256=cc,9\n"
        "Till_Coins-1.0.dist-info/INSTALLER,sha256=dd,4\n"
    ),
    "site-packages/till_mint-2.0.dist-info/METADATA": (
        "Name: till-mint\nVersion: 2.0\nRequires-Dist: till-ore; extra == 'deep'\n"
    ),
    "site-packages/till_fast-3.0.dist-info/METADATA": "Name: till-fast\nVersion: 3.0\n",
    "site-packages/till_tests-3.0.dist-info/METADATA": "Name: till-tests\nVersion: 3.0\n",
    "site-packages/till_ore-3.0.dist-info/METADATA": "Name: till-ore\nVersion: 3.0\n",
}
READ = [
    name
    for name in FILES
    if name.split("/")[0] in ("project", "helpers", "names") and not name.endswith(("unrelated.py", "other.py"))
]
RECORD = "site-packages/Till_Coins-1.0.dist-info/RECORD"
METADATA = "site-packages/Till_Coins-1.0.dist-info/METADATA"
ONES = "till_shop", "till_rates", "till_plugins", "till_names"


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for folder in ("project", "helpers", "names", "site-packages"):
        monkeypatch.syspath_prepend(tmp_path / folder)
    monkeypatch.setattr(module, "_OF_FRAMES", ())
    yield tmp_path
    importlib.invalidate_caches()


def reached() -> ReachedCode:
    importlib.invalidate_caches()
    return reached_code(["till_shop.steps"])


def changed(host: Path, name: str, before: str, after: str) -> None:
    text = (host / name).read_text()
    assert before in text
    (host / name).write_text(text.replace(before, after))


@pytest.mark.usefixtures("host")
def test_code_is_found_in_every_folder_and_packages_by_what_they_require() -> None:
    found = reached()
    assert tuple(found.modules) == tuple(sorted(ONES))
    assert {name: each.version for name, each in found.packages.items()} == {
        "till-coins": "1.0",
        "till-fast": "3.0",
        "till-mint": "2.0",
    }
    assert not {name for name in sys.modules if name.startswith("till_")}, "nothing is imported"


@pytest.mark.parametrize("name", READ)
def test_every_file_that_may_be_imported_counts(host: Path, name: str) -> None:
    before = reached()
    (host / name).write_text(f"# other\n{FILES[name]}")
    assert reached() != before


@pytest.mark.parametrize("name", sorted({*FILES} - {*READ, RECORD, METADATA}))
def test_other_files_do_not_count(host: Path, name: str) -> None:
    before = reached()
    (host / name).write_text(f"{FILES[name]}\n")
    assert reached() == before


@pytest.mark.parametrize(
    "change",
    [
        lambda host: changed(host, METADATA, "Version: 1.0", "Version: 1.0+local"),
        lambda host: changed(host, RECORD, "sha256=bb", "sha256=b0"),
        lambda host: (host / "site-packages/till_absent-1.dist-info").mkdir(),
        lambda host: shutil.rmtree(host / "site-packages/till_mint-2.0.dist-info"),
        lambda host: (host / "helpers/till_missing.py").write_text("x = 1\n"),
    ],
    ids=["version", "build of one version", "required now", "required no more", "imported now"],
)
def test_another_installation_counts(host: Path, change: Callable[[Path], object]) -> None:
    before = reached()
    change(host)
    absent = host / "site-packages/till_absent-1.dist-info"
    if absent.exists():
        (absent / "METADATA").write_text("Name: till-absent\nVersion: 1\n")
    assert reached() != before


@pytest.mark.parametrize(
    ("before", "after"),
    [("sha256=cc", "sha256=c0"), ("sha256=dd", "sha256=d0"), ("small.pyc,,", "small.pyc,,7")],
    ids=["a script names its Python", "another installer", "compiled or not"],
)
def test_the_same_files_are_the_same_build_on_another_host(host: Path, before: str, after: str) -> None:
    found = reached()
    changed(host, RECORD, before, after)
    assert reached() == found


def test_the_place_of_the_code_does_not_count(host: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = reached()
    (host / "helpers").rename(host / "elsewhere")
    monkeypatch.syspath_prepend(host / "elsewhere")
    assert reached() == before


def test_code_in_an_archive_counts_as_in_a_folder(host: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = reached()
    with zipfile.ZipFile(host / "code.zip", "w") as archive:
        for name, text in FILES.items():
            folder, _, inner = name.partition("/")
            if folder in ("project", "helpers"):
                archive.writestr(inner, text)
    shutil.rmtree(host / "project")
    shutil.rmtree(host / "helpers")
    monkeypatch.syspath_prepend(host / "code.zip")
    assert {name: reached().modules[name] for name in ("till_shop", "till_rates")} == {
        name: before.modules[name] for name in ("till_shop", "till_rates")
    }


def test_a_package_that_is_not_described_is_not_known(host: Path) -> None:
    (host / METADATA).write_text("")
    with pytest.raises(UnknownCodeError, match="its code cannot be read"):
        reached()


def test_a_package_without_a_list_of_files_counts_by_its_version(host: Path) -> None:
    (host / RECORD).unlink()
    (host / RECORD).with_name("top_level.txt").write_text("till_coins\n")
    assert reached().packages["till-coins"] == InstalledPackage(version="1.0", build="")


def test_a_project_that_describes_itself_is_read_nevertheless(host: Path) -> None:
    info = host / "helpers/till_rates.egg-info"
    info.mkdir()
    (info / "PKG-INFO").write_text("Name: till-rates\nVersion: 1.0\n")
    (info / "top_level.txt").write_text("till_rates\n")
    assert "till_rates" in reached().modules


def test_what_nobody_installed_is_read_where_packages_are(host: Path) -> None:
    (host / "site-packages/till_missing.py").write_text("x = 1\n")
    assert "till_missing" in reached().modules


def test_a_namespace_has_all_packages_that_installed_into_it(host: Path) -> None:
    for name in ("one", "two"):
        info = host / f"site-packages/till_{name}-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Name: till-{name}\nVersion: 1\n")
        (info / "RECORD").write_text(f"till_missing/{name}.py,sha256=aa,1\n")
        (host / "site-packages/till_missing").mkdir(exist_ok=True)
        (host / f"site-packages/till_missing/{name}.py").write_text("")
    assert {"till-one", "till-two"} <= reached().packages.keys()


def test_python_spark_and_this_package_are_not_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_OF_FRAMES", ())
    for name in ("json.decoder", "sys", "_bisect", "pyspark.sql", "graph_compiler", "__main__"):
        assert reached_code([name]) == ReachedCode(modules={}, packages={}), name


def test_a_file_that_is_not_python_reaches_nothing(host: Path) -> None:
    (host / "helpers/till_rates/__init__.py").write_text("import (\n")
    assert "till_rates" in reached().modules


def test_what_cannot_be_parsed_is_not_known(host: Path) -> None:
    (host / "helpers/till_rates/__init__.py").write_text("x = " + "-" * 50_000 + "1")
    with pytest.raises(UnknownCodeError, match="its code cannot be read: MemoryError"):
        reached()


@pytest.mark.usefixtures("host")
def test_a_folder_that_may_not_be_entered_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuses)
    with pytest.raises(UnknownCodeError, match="its code cannot be read: .*Permission denied"):
        reached()


@pytest.mark.usefixtures("host")
def test_functions_are_called_with_these_packages_whatever_they_import(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_OF_FRAMES", ("till-ore", "till-nothing"))
    assert "till-ore" in reached().packages
    assert reached_code([]).packages == {}


def test_the_code_of_this_package_is_that_of_its_drivers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = Path(module.__file__).parents[1]
    copy = tmp_path / "graph_compiler"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__", "static"))
    before = own_code()
    monkeypatch.setattr(module, "files", lambda _: copy)
    assert own_code() == before
    (copy / "cli" / "app.py").write_text("")
    assert own_code() == before
    (copy / "spark_runtime" / "operators" / "columns.py").write_text("")
    assert own_code() != before
