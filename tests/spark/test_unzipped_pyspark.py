"""Which pyspark a driver imports when an archive of it is on the path."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.end_to_end.conftest import ROOT

pytestmark = [pytest.mark.spark, pytest.mark.ci]
PROGRAM = """
import sys
from graph_compiler.spark_runtime.unzipped_pyspark import import_unzipped
done = import_unzipped()
import pyspark.sql.session
print(done, pyspark.__file__, pyspark.sql.session.__file__)
"""
FILES = {"__init__.py": "", "sql/__init__.py": "", "sql/session.py": ""}


def put(folder: Path, version: str) -> None:
    for name, text in {**FILES, "version.py": version}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Return an archive of a small pyspark in an installation without a folder of it."""
    put(tmp_path / "source" / "pyspark", "1")
    found = tmp_path / "spark" / "python" / "lib" / "pyspark.zip"
    found.parent.mkdir(parents=True)
    with zipfile.ZipFile(found, "w") as zipped:
        for file in (tmp_path / "source").rglob("*.py"):
            zipped.write(file, file.relative_to(tmp_path / "source"))
    return found


def imported(*path: Path, program: str = PROGRAM) -> list[str]:
    """Return what a Python prints that has these places on its path."""
    places = [*path, ROOT / "plugins"]
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": ":".join(map(str, places))},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.parametrize("folder", ["spark/python/pyspark", "spark"], ids=["distribution", "pip"])
def test_the_folder_of_the_same_installation_is_imported(archive: Path, tmp_path: Path, folder: str) -> None:
    place = tmp_path / folder
    put(place, "1")
    assert imported(archive) == ["True", str(place / "__init__.py"), str(place / "sql" / "session.py")]


def test_another_version_is_not_imported(archive: Path, tmp_path: Path) -> None:
    put(tmp_path / "spark" / "python" / "pyspark", "2")
    assert imported(archive) == ["False", f"{archive}/pyspark/__init__.py", f"{archive}/pyspark/sql/session.py"]


def test_without_a_folder_the_archive_is_imported(archive: Path) -> None:
    assert imported(archive)[:2] == ["False", f"{archive}/pyspark/__init__.py"]


def test_a_folder_that_comes_first_on_the_path_is_imported(archive: Path, tmp_path: Path) -> None:
    put(tmp_path / "spark" / "python" / "pyspark", "1")
    found = imported(tmp_path / "source", archive)
    assert found[:2] == ["False", str(tmp_path / "source" / "pyspark" / "__init__.py")]


def test_what_is_imported_already_stays(archive: Path, tmp_path: Path) -> None:
    put(tmp_path / "spark" / "python" / "pyspark", "1")
    found = imported(archive, program=f"import pyspark\n{PROGRAM}")
    assert found[:2] == ["False", f"{archive}/pyspark/__init__.py"]


def test_an_archive_that_is_none_is_left_to_python(tmp_path: Path) -> None:
    archive = tmp_path / "python" / "lib" / "pyspark.zip"
    archive.parent.mkdir(parents=True)
    archive.write_bytes(b"not an archive")
    put(tmp_path / "python" / "pyspark", "1")
    put(tmp_path / "other" / "pyspark", "1")
    found = imported(archive, tmp_path / "other")
    assert found[:2] == ["False", str(tmp_path / "other" / "pyspark" / "__init__.py")]


def test_a_folder_that_cannot_be_looked_at_is_passed_over(archive: Path, tmp_path: Path) -> None:
    put(tmp_path / "spark", "1")
    too_long = tmp_path / ("x" * 300)  # root may enter any folder
    assert imported(too_long, archive) == [
        "False",
        f"{archive}/pyspark/__init__.py",
        f"{archive}/pyspark/sql/session.py",
    ]
