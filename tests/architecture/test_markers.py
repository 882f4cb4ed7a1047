"""A test that `make test-core` does not run has a marker, so that another command runs it."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text()
MARKER = re.compile(
    r"pytest\.mark\.(spark|airflow|e2e|installed|long|browser|cluster|yarn|kubernetes|openlineage|objects|hdfs|compose)\b"
)
Test = ast.FunctionDef | ast.AsyncFunctionDef


def run_by_core() -> set[str]:
    """Return the folders and files that the recipe of `test-core` names."""
    (recipe,) = re.findall(r"^test-core:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)
    return set(re.findall(r"(?<=\s)tests/[\w/.]+", recipe))


def left_out() -> list[Path]:
    core = run_by_core()
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    assert len(files) > 100
    return [file for file in files if not core & {str(it) for it in names_of(file)}]


def names_of(file: Path) -> list[Path]:
    path = file.relative_to(ROOT)
    return [path, *path.parents]


def unmarked(source: str) -> list[str]:
    """Return the tests of a module that have no marker, if the module has none for all of them."""
    body = ast.parse(source).body
    for_all = [it for it in body if isinstance(it, ast.Assign) and "pytestmark" in ast.unparse(it)]
    if any(map(is_marked, for_all)):
        return []
    tests = [it for it in body if isinstance(it, Test) and it.name.startswith("test_")]
    return [it.name for it in tests if not any(map(is_marked, it.decorator_list))]


def is_marked(node: ast.AST) -> bool:
    return MARKER.search(ast.unparse(node)) is not None


@pytest.mark.parametrize("file", [pytest.param(it, id=str(it.relative_to(ROOT))) for it in left_out()])
def test_what_the_core_leaves_out_has_a_marker(file: Path) -> None:
    assert unmarked(file.read_text()) == []


def test_the_core_names_what_there_is() -> None:
    assert len(run_by_core()) > 10
    assert all((ROOT / name).exists() for name in run_by_core())


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("def test_a(): ...", ["test_a"]),
        ("@pytest.mark.spark\ndef test_a(): ...", []),
        ("@pytest.mark.parametrize('a', [1])\ndef test_a(a): ...", ["test_a"]),
        ("pytestmark = [pytest.mark.e2e]\ndef test_a(): ...", []),
        ("pytestmark = pytest.mark.skipif(True)\ndef test_a(): ...", ["test_a"]),
        ("def helper(): ...", []),
    ],
)
def test_a_test_without_a_marker_is_found(source: str, found: list[str]) -> None:
    assert unmarked(source) == found


def test_no_test_skips_itself_where_a_package_is_missing() -> None:
    """It would be skipped by `make test-core`, and no other command runs a test without a marker."""
    skipping = re.compile(r"importor" + "skip")
    found = [file for file in (ROOT / "tests").rglob("*.py") if skipping.search(file.read_text())]
    assert found == []
