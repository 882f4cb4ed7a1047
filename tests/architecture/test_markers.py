"""Each test is in one tier: `make test` runs it, or `make test-all` runs it, too, or another command does.

A test that `make test-core` does not run has a marker, so that another command runs it.
"""

import ast
import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text()
MARKER = re.compile(
    r"pytest\.mark\.(spark|airflow|e2e|installed|long|browser|cluster|yarn|kubernetes|openlineage|objects|hdfs|lake|kafka|versions|compose)\b"
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


def test_what_the_core_leaves_out_has_a_marker() -> None:
    found = {str(file.relative_to(ROOT)): unmarked(file.read_text()) for file in left_out()}
    assert {file: tests for file, tests in found.items() if tests} == {}


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


def imports_airflow(source: str) -> bool:
    """Whether a module imports Airflow when it is imported itself."""
    found = [node for node in ast.parse(source).body if isinstance(node, ast.Import | ast.ImportFrom)]
    names = [getattr(node, "module", None) or node.names[0].name for node in found]
    return any(re.match(r"(airflow|graph_compiler\.airflow_backend)(\.|$)", name) for name in names)


def test_no_test_imports_airflow_when_it_is_collected() -> None:
    """Airflow reads its settings when it is imported, and those of tests/airflow are set when they begin."""
    assert imports_airflow("import os\nfrom graph_compiler.airflow_backend.task.arrivals import a")
    assert not imports_airflow("def test_a():\n    from airflow.sdk import DAG")
    tests = [*(ROOT / "tests").rglob("test_*.py"), *(ROOT / "tests").rglob("conftest.py")]
    assert [test for test in tests if imports_airflow(test.read_text())] == []


NEEDS = ("", "spark", "airflow", "e2e", "installed", "spark airflow")
OTHERS = (
    "browser",
    "cluster",
    "yarn",
    "kubernetes",
    "openlineage",
    "objects",
    "hdfs",
    "lake",
    "kafka",
    "versions",
    "compose",
)


def run_by(target: str) -> list[str]:
    """Return the expressions of markers with which a target of make runs pytest, `test-core` with its two parts."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    dry = subprocess.run(
        ["make", "--dry-run", target], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return re.findall(r" -m pytest .*-m '([^']+)'", dry.stdout) or re.findall(r" -m pytest .*-m (\w+)", dry.stdout)


def runs(expression: str, markers: str) -> bool:
    """Whether pytest runs a test with these markers."""
    names = set(re.findall(r"[a-z]\w+", expression)) - {"not", "or", "and"}
    return bool(eval(expression, {name: name in markers.split() for name in names}))


def test_each_test_is_in_one_tier_and_ci_runs_both() -> None:
    (quick,), (long,) = run_by("test"), run_by("test-long")
    *core, with_core, rest = run_by("test-all")
    assert set(core) == {with_core}, "both parts of test-core leave out the same"
    for needs in NEEDS:
        tiers = {tier: f"{needs} {tier}" for tier in ("", "ci", "long", "ci long")}
        assert [tier for tier, markers in tiers.items() if runs(quick, markers)] == [""]
        assert [tier for tier, markers in tiers.items() if runs(with_core, markers) + runs(rest, markers)] == ["", "ci"]
        assert not any(runs(with_core, markers) and runs(rest, markers) for markers in tiers.values())
        assert [tier for tier, markers in tiers.items() if runs(long, markers)] == ["long", "ci long"]
    assert re.search("^make test-all$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)


@pytest.mark.parametrize("suite", OTHERS)
def test_the_quick_tier_needs_no_more_than_airflow_and_spark(suite: str) -> None:
    (quick,), (own,) = run_by("test"), run_by(f"test-{suite}")
    assert not any(runs(quick, f"{needs} {suite}") for needs in NEEDS)
    assert runs(own, suite)


def test_the_quick_tier_has_tests_of_each_room_that_needs_spark() -> None:
    """A room whose tests are all for CI would be changed without any test."""
    rooms = {folder for folder in (ROOT / "tests" / "spark").iterdir() if list(folder.glob("test_*.py"))}
    quick = {folder for folder in rooms if any("ci" not in for_all(file) for file in folder.glob("test_*.py"))}
    assert rooms == quick


def for_all(file: Path) -> set[str]:
    """Return the markers of all tests of a file."""
    found = re.findall(r"^pytestmark = (.+)$", file.read_text(), re.MULTILINE)
    return {name for line in found for name in re.findall(r"pytest\.mark\.(\w+)", line)}
