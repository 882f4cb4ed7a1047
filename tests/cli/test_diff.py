"""`graph-compiler diff`: versions as modules, files and git revisions, each imported by itself."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PIPELINE = """
from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from pipelines.steps import clean

env = StreamExecutionEnvironment("sales")
rows = env.from_source(Csv("/in"), "rows").transform(clean).name("clean").stage("dear")
rows.filter("x > {least}").name("many").sink_to(Parquet("/out")).name("out")
"""
STEPS = "def clean(rows):\n    return rows{more}\n"


def put(folder: Path, *, least: int = 0, more: str = "") -> None:
    (folder / "pipelines").mkdir(parents=True, exist_ok=True)
    (folder / "pipelines" / "sales.py").write_text(PIPELINE.format(least=least))
    (folder / "pipelines" / "steps.py").write_text(STEPS.format(more=more))


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a repository: at `first`, rows are cleaned differently; HEAD has another filter than the working tree."""
    folder = tmp_path / "project"
    put(folder, more="  # as it was")
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    git(folder, "tag", "first")
    put(folder)
    git(folder, "commit", "-qam", "second")
    put(folder, least=5)
    return folder


def diff(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "graph_compiler", "diff", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "plugins"), str(folder)])},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_revision_is_compared_with_the_working_tree(project: Path) -> None:
    done = diff(project, "HEAD:pipelines/sales.py", "sales")
    assert done.stderr == ""
    assert done.stdout.splitlines()[0] == (
        "sales: operators: 1 changed, 1 affected · 1 of 1 staged results reusable · tasks: 1 changed"
    )
    assert "condition: x > 0 → x > 5" in done.stdout
    assert done.returncode == 0


PLACES = """
from pathlib import Path
from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

PROJECT = Path(__file__).parents[1]
params = {
    "output": f"{PROJECT}/output",
    "project": str(PROJECT),
    "uri": f"file://{PROJECT}/a",
}
env = StreamExecutionEnvironment("sales", params=params)
env.add_files(f"{PROJECT}/pipelines/codes.csv")
rows = env.from_source(Csv(f"{PROJECT}/data/in.csv", schema="x INT"), "rows").stage("expensive")
rows.filter("x > 1").name("many").sink_to(Parquet("{{ params.output }}/many")).name("out")
"""
IN_YAML = """
name: sales
params: {data: {default: ., format: path}, output: {default: output, format: path}}
sources: {rows: {csv: "{{ params.data }}/in.csv", schema: x INT}}
steps: [{name: many, from: rows, filter: x > 1}]
sinks: {out: {from: many, sink_to: {parquet: "{{ params.output }}/many"}}}
"""


@pytest.mark.ci
@pytest.mark.parametrize("below", ["", "team/"])
@pytest.mark.parametrize(("suffix", "text"), [("py", PLACES), ("yaml", IN_YAML)])
def test_paths_below_the_project_are_no_change_right_after_a_commit(
    suffix: str, text: str, below: str, tmp_path: Path
) -> None:
    pipelines = tmp_path / below / "pipelines"
    pipelines.mkdir(parents=True)
    (pipelines / f"sales.{suffix}").write_text(text)
    (pipelines / "codes.csv").write_text("1")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "first")
    file = f"HEAD:{below}pipelines/sales.{suffix}"
    done = diff(tmp_path / below, "--exit-code", file, "sales")
    assert done.stderr == ""
    assert done.stdout.startswith("sales: nothing changed (")
    assert done.returncode == 0


@pytest.mark.ci
def test_a_path_may_be_relative_to_the_folder_as_in_git(tmp_path: Path) -> None:
    pipelines = tmp_path / "team" / "pipelines"
    pipelines.mkdir(parents=True)
    (pipelines / "sales.yaml").write_text(IN_YAML)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "first")
    for folder, path in ((pipelines.parent, "./pipelines/"), (pipelines, "./"), (pipelines, "../pipelines/")):
        found = diff(folder, f"HEAD:{path}sales.yaml", f"{pipelines}/sales.yaml")
        assert found.stdout.startswith("sales: nothing changed ("), found.stderr
    wrong = diff(pipelines.parent, "HEAD:pipelines/sales.yaml", "sales")
    assert "did you mean 'HEAD:team/pipelines/sales.yaml'?" in wrong.stderr
    outside = diff(tmp_path, "HEAD:../sales.yaml", "team/pipelines/sales.yaml")
    assert "there is no file '../sales.yaml' in revision 'HEAD'" in outside.stderr


def test_imported_modules_are_read_from_the_same_revision(project: Path) -> None:
    found = json.loads(diff(project, "first:pipelines/sales.py", "HEAD:pipelines/sales.py", "--json").stdout)
    changed, *affected = found["operators"]
    assert (changed["name"], changed["kind"]) == ("clean", "CHANGED")
    assert {change["kind"] for change in affected} == {"AFFECTED"}
    assert [fact["fact"] for fact in changed["facts"]] == ["function.source_digest"]
    assert [(result["name"], result["kind"]) for result in found["results"]] == [("clean", "RECOMPUTED")]
    assert found["summary"].startswith("sales: operators: 1 changed, 2 affected")


def test_a_file_elsewhere_is_compared_with_a_module_of_the_same_name(project: Path, tmp_path: Path) -> None:
    put(tmp_path / "other", least=7)
    (project / "pipelines" / "__init__.py").touch()  # would come before a folder that has none
    done = diff(project, str(tmp_path / "other" / "pipelines" / "sales.py"), "sales", "--summary")
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1
    assert "1 changed, 1 affected · 1 of 1 staged results reusable" in done.stdout


@pytest.mark.ci
def test_sources_that_an_earlier_compiler_of_a_revision_read_less_strictly_are_reported(project: Path) -> None:
    options = project / "plugins" / "graph_compiler" / "options" / "model.py"
    options.parent.mkdir(parents=True)
    options.write_text("class PipelineOptions: ...\n")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "with a compiler")
    git(project, "tag", "lenient")
    options.write_text('ALIAS = "sources.strict"\n')
    line = (
        "  · rows\n      records that do not fit: NULL, padded or cut → "
        'fail the task, unless on_misfit="null" or sources.strict: false\n'
    )
    done = diff(project, "lenient:pipelines/sales.py", "sales", "--exit-code")
    assert done.stderr == ""
    assert line in done.stdout
    assert done.returncode == 1
    assert "records" not in diff(project, "HEAD~1:pipelines/sales.py", "sales").stdout, (
        "it has no compiler, so this one reads it"
    )
    git(project, "commit", "-qam", "with this compiler")
    assert "records" not in diff(project, "HEAD:pipelines/sales.py", "sales").stdout


@pytest.mark.ci
def test_the_exit_code_shows_differences_on_request(project: Path) -> None:
    assert diff(project, "sales", "pipelines/sales.py", "--exit-code").returncode == 0
    assert diff(project, "HEAD:pipelines/sales.py", "sales", "--exit-code").returncode == 1


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("nowhere:pipelines/sales.py", "git rev-parse: fatal: Needed a single revision"),
        ("--all:pipelines/sales.py", "No such option"),
        ("HEAD:sales.py", "there is no file 'sales.py' in revision 'HEAD'"),
        ("fales", "did you mean 'sales'?"),
        ("pipelines/steps.py", "pipelines/steps.py: pipeline 'steps' has 1 problem"),
        ("broken:pipelines/sales.py", "broken:pipelines/sales.py: pipeline 'sales' has 1 problem"),
    ],
)
def test_an_unknown_version_is_reported(version: str, words: str, project: Path) -> None:
    if version.startswith("broken"):
        (project / "pipelines" / "sales.py").write_text("1 / 0")
        git(project, "commit", "-qam", "third")
        git(project, "tag", "broken")
        put(project)
    done = diff(project, version, "sales")
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
