"""`discard`: the next try of a task keeps nothing of the earlier ones."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.cli.app import app
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.local_task import DeskRun, desk_task
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.staging_layout import DISCARDED
from graph_compiler.staging.attempts.execution_order import begin
from graph_compiler.staging.attempts.run_marker import RunMarker, mark_run
from graph_compiler.staging.store.local_store import LocalStore


@pytest.fixture
def staging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a staging root with a run of a task of two regions and a task of one, each begun once."""
    root = tmp_path / "staging"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AIRFLOW__GRAPH_COMPILER__STAGING_ROOT", str(root))
    env = StreamExecutionEnvironment("sales")
    cleaned = env.from_source(Csv("/orders"), "orders").filter("x > 0").name("cleaned")
    staged = cleaned.stage("for both", same_task=True)
    staged.sink_to(Parquet("/all")).name("all")
    large = cleaned.filter("x > 1").name("large").stage("for another task")
    large.filter("x > 2").sink_to(Parquet("/largest")).name("largest")
    run = DeskRun(day="2024-01-01", params={}, run_id="r", staging_root=str(root))
    tasks = [desk_task(region, run, execution_id="e") for region in describe_regions(compile_pipeline(env.pipeline()))]
    mark_run(LocalStore(), RunMarker.of(tasks[0], host="here", time=0.0))
    assert all(begin(LocalStore(), task) for task in tasks)
    return root


def discarded(staging: Path) -> set[str]:
    return {file.parents[1].name for file in staging.rglob(DISCARDED)}


def test_a_task_is_named_by_its_id(staging: Path) -> None:
    done = CliRunner().invoke(app, ["discard", "sales", "r", "cleaned"])
    assert (done.exit_code, discarded(staging)) == (0, {"cleaned", "all"}), done.output
    assert "the next try of 'cleaned' runs regions" in done.stdout


def test_a_region_is_named_by_its_own_id(staging: Path) -> None:
    done = CliRunner().invoke(app, ["discard", "sales", "r", "all", "--json"])
    assert (done.exit_code, discarded(staging)) == (0, {"all"}), done.output
    assert json.loads(done.stdout) == {"discarded": ["all"]}


@pytest.mark.parametrize(
    ("words", "found"), [(("sales", "r", "nothing"), "found: "), (("sales", "other", "all"), "found: r")]
)
def test_what_was_not_run_is_refused_with_what_was(words: tuple[str, ...], found: str, staging: Path) -> None:
    done = CliRunner().invoke(app, ["discard", *words])
    assert (done.exit_code, done.stdout) == (2, "")
    assert found in done.stderr
    assert discarded(staging) == set()
