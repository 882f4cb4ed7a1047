"""The recipes of a connector and of an operator in CONTRIBUTING.md, followed in two packages outside of ours."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ACME = Path(__file__).parent / "acme"


def in_use(what: str, *arguments: str, path: Path | None = ACME) -> subprocess.CompletedProcess[str]:
    """Run a function of `packages_in_use` where the packages of a folder are installed, or none."""
    folders = [str(ROOT / "plugins"), str(ROOT), *([str(path)] if path else [])]
    return subprocess.run(
        [sys.executable, "-m", "tests.recipes.packages_in_use", what, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_python_and_yaml_declare_the_same_descriptors() -> None:
    run = in_use("check_declared")
    assert run.returncode == 0, run.stderr


@pytest.mark.spark  # the driver's modules are imported
def test_the_driver_tells_a_listener() -> None:
    run = in_use("check_listener")
    assert run.returncode == 0, run.stderr


@pytest.mark.long  # a session of its own
@pytest.mark.spark
def test_spark_reads_evaluates_and_writes_with_them(tmp_path: Path) -> None:
    run = in_use("check_run", str(tmp_path))
    assert run.returncode == 0, run.stderr


@pytest.fixture(scope="module")
def descriptor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("left") / "descriptor.json"
    assert in_use("leave_descriptor", str(file)).returncode == 0
    return file


def test_a_descriptor_of_a_missing_package_names_the_missing_kind(descriptor: Path) -> None:
    assert in_use("read_descriptors", str(descriptor)).stdout == "by_month\n"
    assert in_use("read_descriptors", str(descriptor), path=None).stdout == (
        "no package that is installed here registers 'acme_sqlite.connector:Sqlite' under graph_compiler.connectors\n"
    )


def test_a_descriptor_imports_nothing_that_is_not_registered(descriptor: Path, tmp_path: Path) -> None:
    shutil.copytree(ACME, tmp_path, dirs_exist_ok=True)
    (tmp_path / "evil.py").write_text("print('EVIL was imported')")
    names = ("evil:Sqlite", "acme_sqlite.spark:SqliteSink", "shutil:rmtree", ":", "evil:x.y")
    text, files = descriptor.read_text(), []
    for number, name in enumerate(names):
        files.append(tmp_path / f"{number}.json")
        files[-1].write_text(text.replace("acme_sqlite.connector:Sqlite", name))
    run = in_use("read_descriptors", *map(str, files), path=tmp_path)
    words = "no package that is installed here registers '{}' under graph_compiler.connectors"
    assert run.stdout.splitlines() == [words.format(name) for name in names]


def test_yaml_of_a_missing_package_is_refused_with_the_known_kinds() -> None:
    error = in_use("read_yaml", path=None).stderr
    assert "sources.sales.sqlite: unknown key 'sqlite'" in error
    assert "operators of packages that register some; none is installed" in error


IS_A_CONNECTOR = "graph_compiler.declaration.connectors.connector:Connector"


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("sqlite = acme_sqlite.nowhere:Sqlite", "No module named 'acme_sqlite.nowhere'"),
        ("sqlite = acme_sqlite.connector:Problem", "'acme_sqlite.connector:Problem' is not a kind of Connector"),
        ("sqlite = acme_sqlite.connector:Connector", f"which is defined as '{IS_A_CONNECTOR}'"),
        ("csv = acme_sqlite.connector:Sqlite", "unknown key 'sqlite'"),
    ],
)  # fmt: skip
def test_an_unusable_package_is_reported_at_its_key(entry: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "acme"
    shutil.copytree(ACME, path)
    registered = path / "acme_sqlite-1.0.dist-info" / "entry_points.txt"
    registered.write_text(f"[graph_compiler.connectors]\n{entry}\n")
    assert words in in_use("read_yaml", path=path).stderr


def test_an_unregistered_kind_is_refused_at_compile_time(tmp_path: Path) -> None:
    path = tmp_path / "acme"
    shutil.copytree(ACME, path, ignore=shutil.ignore_patterns("*.dist-info"))
    error = in_use("compile_unregistered", path=path).stderr
    assert "sales: Spark's driver cannot find its Sqlite: no package" in error
    assert 'as name = "acme_sqlite.connector:Sqlite"' in error
    assert "Unpivot: Spark's driver cannot find its Unpivot: no package" in error
