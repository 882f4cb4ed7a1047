"""`graph-compiler new`: what it writes is valid, runs, and replaces nothing."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from graph_compiler.cli.app import app
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.projects.yaml.reader import read_pipeline

ROOT = Path(__file__).parents[2]
FORMS = pytest.mark.parametrize("form", [[], ["--yaml"]], ids=["python", "yaml"])


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def new(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["new", *arguments])


def run(project: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run `python -m …` in the project, without access to this project's pipelines."""
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=project,
        env=os.environ | {"PYTHONPATH": str(ROOT / "plugins")},
        capture_output=True,
        text=True,
        check=False,
    )


@FORMS
def test_generated_files_are_valid_tested_and_formatted(form: list[str], project: Path) -> None:
    said = new("sales", *form)
    assert said.exit_code == 0, said.output
    files = sorted(str(path.relative_to(project)) for path in project.rglob("*.*"))
    assert files == (
        ["dags/all_pipelines.py", "pipelines/sales.yaml", "tests/test_sales.py"]
        if form
        else ["dags/sales.py", "pipelines/sales.py", "tests/test_sales.py"]
    )
    assert all(file in said.stdout for file in files)
    assert "graph-compiler run sales" in said.stdout
    checked = run(project, "graph_compiler", "validate", "--json")
    assert json.loads(checked.stdout)["pipelines"][0]["problems"] == []
    # The other one runs it on Spark: tests/end_to_end/test_quickstart.py.
    tested = run(project, "pytest", "-q", "-p", "no:cacheprovider", "-k", "one_task")
    assert "1 passed" in tested.stdout, tested.stdout


def test_the_next_commands_run_in_a_folder_outside_this_repository(project: Path) -> None:
    said = new("sales").stdout
    (command,) = (line.strip() for line in said.splitlines() if "-m pytest" in line)
    done = subprocess.run(
        f"{command} -q -k one_task",
        shell=True,
        cwd=project,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 passed" in done.stdout, done.stdout + done.stderr
    # What the shell would not find from here is named by its path.
    assert ".venv/bin/graph-compiler run" not in said or str(Path(sys.executable).parent) in said


def test_pipelines_in_yaml_share_one_dag_file(project: Path) -> None:
    assert "dags/all_pipelines.py" in new("sales", "--yaml").stdout
    assert "dags/all_pipelines.py" not in new("visits", "--yaml").stdout
    assert "load_dags(" in (project / "dags" / "all_pipelines.py").read_text()


@pytest.mark.installed
@FORMS
def test_generated_files_pass_ruff(form: list[str], project: Path) -> None:
    said = new("sales", *form, "--json")
    (project / "plugins").symlink_to(ROOT / "plugins")  # so that ruff takes both for the project's own
    files = [file for file in json.loads(said.stdout)["files"] if file.endswith(".py")]
    # Code is wrapped as in our examples, which fit into the pages of the documents.
    for check in (["check"], ["format", "--check", "--line-length", "100"]):
        done = run(project, "ruff", *check, "--config", str(ROOT / "pyproject.toml"), *files)
        assert done.returncode == 0, done.stdout + done.stderr


def test_both_forms_declare_the_same(project: Path) -> None:
    new("sales")
    (project / "apart").mkdir()
    os.chdir(project / "apart")
    new("sales", "--yaml")
    os.chdir(project)
    written = run(project, "graph_compiler", "export", "sales")
    assert written.returncode == 0, written.stderr
    exported = project / "exported.yaml"
    exported.write_text(written.stdout)
    of_python, of_yaml = (
        [(region.plan_id, region.region_id) for region in describe_regions(compile_pipeline(read_pipeline(path)))]
        for path in (exported, project / "apart" / "pipelines" / "sales.yaml")
    )
    assert of_python == of_yaml


@pytest.mark.parametrize(
    ("there", "form"),
    [
        ("pipelines/sales.py", []),
        ("pipelines/sales.py", ["--yaml"]),
        ("pipelines/sales.yaml", []),
        ("tests/test_sales.py", ["--yaml"]),
        ("dags/sales.py", []),
    ],
)
def test_existing_files_are_not_overwritten(there: str, form: list[str], project: Path) -> None:
    (project / there).parent.mkdir()
    (project / there).write_text("mine")
    said = new("sales", *form)
    assert (said.exit_code, said.stdout) == (2, "")
    assert f"there is already {there}; nothing was written" in said.stderr
    assert [path for path in project.rglob("*") if path.is_file()] == [project / there]
    assert (project / there).read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("class", "it is a Python keyword"),
        ("Sales", "allowed: lowercase letters"),
        ("2sales", "allowed: lowercase letters"),
        ("sales-eu", "allowed: lowercase letters"),
        ("../sales", "allowed: lowercase letters"),
        ("_sales", "allowed: lowercase letters"),
        ("a" * 101, "allowed: lowercase letters"),
        ("calendar", "an importable module has this name"),
        ("pipelines", "hint: pipelines_pipeline"),
    ],
)
def test_invalid_names_are_refused(name: str, words: str, project: Path) -> None:
    said = new(name)
    assert (said.exit_code, said.stdout) == (2, "")
    assert words in said.stderr
    assert list(project.iterdir()) == []


def test_the_files_are_listed_as_json(project: Path) -> None:
    assert json.loads(new("sales", "--json").stdout) == {
        "pipeline": "sales",
        "files": ["pipelines/sales.py", "tests/test_sales.py", "dags/sales.py"],
    }
    assert (project / "dags" / "sales.py").is_file()
