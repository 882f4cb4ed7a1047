"""`explain --run`: the execution graph of a run, from the documents of its last attempts."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from graph_compiler.cli.app import app
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.local_task import DeskRun, desk_task
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.actual_execution import ActualExecution, ActualVertex
from graph_compiler.projects.pipeline_files import load_pipeline
from graph_compiler.staging.attempts.attempt_documents import AttemptDocuments
from graph_compiler.staging.attempts.execution_order import begin
from graph_compiler.staging.attempts.run_marker import RunMarker, mark_run
from graph_compiler.staging.store.local_store import LocalStore
from tests.harness.actual_executions import stage
from tests.harness.reports import bare_report

PIPELINE = """\
name: sales
sources:
  numbers: {range: 0, end: 10, parallelism: 2}
sinks:
  out: {from: numbers, sink_to: {parquet: /data/out}}
"""


@pytest.fixture(autouse=True)
def run_of_sales(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run `r` of a pipeline of one region, which failed once and then ran in stage 7."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AIRFLOW__GRAPH_COMPILER__STAGING_ROOT", str(tmp_path / "staging"))
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "pipelines" / "sales.yaml").write_text(PIPELINE)
    (region,) = describe_regions(compile_pipeline(load_pipeline("sales")))
    for number, is_done in enumerate((False, True)):
        run = DeskRun(day="2024-01-01", params={}, run_id="r", staging_root=str(tmp_path / "staging"))
        task = desk_task(region, run, execution_id=f"e{number}")
        task = replace(task, attempt=replace(task.attempt, attempt_number=number))
        if number == 0:
            mark_run(LocalStore(), RunMarker.of(task, host="here", time=0.0))
        assert begin(LocalStore(), task)
        ran = ActualExecution(
            vertices=tuple(
                ActualVertex(vertex_id=one.vertex_id, parallelism=4, splits=2, stage_ids=(7,))
                for one in region.vertices
            ),
            stages=(stage(7),),
            exchanges=(),
        )
        if is_done:
            AttemptDocuments.of(task).put_report(replace(bare_report(), actual=ran))


def test_the_last_attempt_is_shown() -> None:
    done = CliRunner().invoke(app, ["explain", "sales", "--run", "r"])
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("sales · r · execution graph after the run\n\nout · FINISHED · attempt 2\n")
    assert "parallelism: declared 2, ran in 4 tasks · stage 7" in done.stdout


@pytest.mark.parametrize("words", [("sales",), ("sales", "--dag", "sales"), ("sales", "--graph", "execution")])
def test_json_has_declared_and_actual(words: tuple[str, ...]) -> None:
    done = CliRunner().invoke(app, ["explain", *words, "--run", "r", "--json"])
    assert done.exit_code == 0, done.output
    (region,) = json.loads(done.stdout)["regions"]
    numbers, out = region["vertices"]
    assert numbers["declared"] == {"parallelism": 2}
    assert numbers["actual"] == {"parallelism": 4, "splits": 2, "stages": [7], "shares_stages_with": [out["id"]]}
    assert [one["stage_id"] for one in region["stages"]] == [7]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("--run", "other"), "found: r"),
        (("--run", "r", "--graph", "job"), "--run prints the execution graph"),
        (("--run", "r", "--format", "html"), "--run prints the execution graph"),
        (("--run", "r", "--spark"), "--run prints the execution graph"),
        (("--dag", "sales"), "add --run"),
        (("--spark", "--json"), "--spark prints text"),
        (("--submit", "--graph", "job"), "--submit prints text or JSON"),
        (("--format", "html", "--graph", "job"), "the page has every graph"),
        (("--format", "flink", "--graph", "execution"), "Flink has no plan document"),
        (("--json", "--format", "dot"), "contradict each other"),
    ],
)
def test_what_cannot_be_combined_is_refused(words: tuple[str, ...], found: str) -> None:
    done = CliRunner().invoke(app, ["explain", "sales", *words])
    assert done.exit_code == 2, done.output
    assert found in " ".join(done.output.replace("│", " ").split())
