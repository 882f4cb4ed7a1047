"""What executors import: the packages of functions and this one, in the same bytes for the same files."""

import importlib
import io
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from graph_compiler.declaration import functions as source_digest_module
from graph_compiler.declaration.functions import source_digest
from graph_compiler.projects import code_archive
from graph_compiler.projects.code_archive import CodeArchive, CodeArchiveError, pack

FILES = {
    "stock/steps.py": "from rates import RATE\nfrom stock.deep.below import x\n",
    "stock/declares.py": (
        "from graph_compiler import Csv, StreamExecutionEnvironment\n"
        "def same(rows): return rows\n"
        "stream = StreamExecutionEnvironment('a').from_source(Csv('/data/a'), 'a').transform(same)\n"
        "print(stream.environment.pipeline().operators[-1].declared_at)\n"
    ),
    "stock/deep/__init__.py": "",
    "stock/deep/below.py": "x = 1\n",
    "stock/found_at_run_time.py": "y = 2\n",
    "stock/prices.csv": "1,2\n",
    "stock/.git/hook.py": "",
    "rates.py": "RATE = 3\n",
    "unrelated/__init__.py": "",
}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder with a package without `__init__.py`, as pipelines/ is, and a module beside it."""
    root = tmp_path / "repository"
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(root)
    importlib.import_module("stock.steps")
    yield root
    for name in [it for it in sys.modules if it.partition(".")[0] in ("stock", "rates")]:
        del sys.modules[name]
    source_digest.cache_clear()


def names(archive: CodeArchive) -> set[str]:
    found = zipfile.ZipFile(io.BytesIO(archive.content)).namelist()
    assert len(set(found)) == len(found)
    return {name for name in found if not name.endswith("/")}


def of_users(archive: CodeArchive) -> set[str]:
    return {name for name in names(archive) if not name.startswith("graph_compiler/")}


@pytest.mark.usefixtures("repository")
def test_a_package_is_packed_whole_with_what_it_imports_beside_it() -> None:
    assert of_users(pack(["stock.steps"])) == {
        "stock/steps.py",
        "stock/deep/__init__.py",
        "stock/deep/below.py",
        "stock/declares.py",
        "stock/found_at_run_time.py",
        "rates.py",
    }


def test_this_package_is_always_packed_and_installed_ones_are_not() -> None:
    archive = pack(["json", "pytest"])
    assert of_users(archive) == set()
    assert "graph_compiler/spark_runtime/main.py" in names(archive)


def test_the_same_files_give_the_same_bytes(repository: Path) -> None:
    before = pack(["stock.steps", "rates"])
    (repository / "stock/steps.py").chmod(0o700)
    os.utime(repository / "rates.py", (1, 1))
    (repository / "stock/deep/__pycache__").mkdir(exist_ok=True)
    (repository / "stock/deep/__pycache__/below.py").touch()
    (repository / "unrelated/more.py").touch()
    assert pack(["rates", "stock.steps", "stock.steps"]) == before
    (repository / "stock/found_at_run_time.py").write_text("y = 3\n")
    assert pack(["stock.steps"]).digest != before.digest


def test_a_python_without_any_package_imports_the_archive(repository: Path, tmp_path: Path) -> None:
    path = tmp_path / "code.zip"
    path.write_bytes(pack(["stock.steps"]).content)
    (repository / "rates.py").unlink()
    program = (
        f"import sys; sys.path.insert(0, {str(path)!r})\n"
        "import stock.steps, stock.found_at_run_time, graph_compiler\n"
        "from graph_compiler import Csv, StreamExecutionEnvironment\n"
        "print(stock.steps.RATE, stock.steps.__file__, graph_compiler.__file__)"
    )
    assert said_by(program).split() == ["3", f"{path}/stock/steps.py", f"{path}/graph_compiler/__init__.py"]


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize("entry", ["code.zip", "./code.zip", "{folder}/code.zip"])
def test_a_module_that_declares_a_pipeline_is_imported_from_the_archive(
    entry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On executors: a function of the pipeline's own module makes them import the declaration."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "code.zip").write_bytes(pack(["stock.steps"]).content)
    entry = entry.format(folder=tmp_path)
    said = said_by(f"import sys; sys.path.insert(0, {entry!r}); import stock.declares")
    assert said.strip().endswith("code.zip/stock/declares.py:3")


def test_a_module_in_an_archive_is_not_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "egg.zip", "w") as archive:
        archive.writestr("zipped.py", "x = 1")
    monkeypatch.syspath_prepend(tmp_path / "egg.zip")
    importlib.import_module("zipped")
    with pytest.raises(CodeArchiveError, match="'zipped' is in an archive: .*egg.zip"):
        pack(["zipped"])


def said_by(program: str) -> str:
    """Return what a Python without any package prints."""
    command = [sys.executable, "-I", "-S", "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_two_packages_of_one_name_are_refused(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    (other / "stock").mkdir(parents=True)
    (other / "stock/more.py").touch()
    monkeypatch.syspath_prepend(other)
    sys.modules["stock"].__path__ = [str(repository / "stock"), str(other / "stock")]
    importlib.import_module("stock.more")
    with pytest.raises(CodeArchiveError, match="two folders have a package or module 'stock'"):
        pack(["stock.steps", "stock.more"])


def test_too_much_is_refused(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_archive, "MOST_BYTES", 1000)
    (repository / "stock/found_at_run_time.py").write_text("#" * 1001)
    with pytest.raises(CodeArchiveError, match="keep data out of the packages"):
        pack(["stock.steps"])


def test_what_is_no_file_is_left_out(repository: Path) -> None:
    os.mkfifo(repository / "stock/pipe.py")
    (repository / "stock/gone.py").symlink_to("nowhere")
    assert len(of_users(pack(["stock.steps"]))) == 6


def test_a_file_that_cannot_be_read_is_named(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = Path.read_bytes

    def denied(path: Path) -> bytes:
        if path == repository / "rates.py":
            raise PermissionError(13, "Permission denied", str(path))
        return read(path)

    pack(["stock.steps"])
    monkeypatch.setattr(Path, "read_bytes", denied)
    monkeypatch.setattr(source_digest_module, "_imported", lambda *_: ())
    with pytest.raises(CodeArchiveError, match=r"rates\.py cannot be packed"):
        pack(["stock.steps", "rates"])
