"""A replay reads what its execution has read: never what a target or a folder holds now, or it is refused."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from graph_compiler import Csv, Json, Parquet, StreamExecutionEnvironment, Values
from graph_compiler.cli.commands.replay import prepare_scratch
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.errors import PreviousVersionError
from graph_compiler.spark_runtime.main import execute
from graph_compiler.spark_runtime.shell import named_rows
from graph_compiler.staging.attempts.attempt_documents import AttemptDocuments
from graph_compiler.staging.positions.position_log import PositionError
from tests.harness.position_runs import Runs, write
from tests.harness.runs_of_a_day import STORE, RunsOfADay

pytestmark = pytest.mark.spark


def totals(folder: Path, amount: int) -> Pipeline:
    """Return a pipeline that adds an amount to its target."""
    env = StreamExecutionEnvironment("bank")
    target = Csv(f"{folder}/totals")
    before = env.from_target(target, "before", schema="total BIGINT", backfill="latest")
    new = env.from_source(
        Values(((amount,),), schema=f"total {'BIGINT' if isinstance(amount, int) else 'STRING'}"), "new"
    )
    env.sql("SELECT sum(total) AS total FROM {both}", both=before.union(new)).sink_to(target)
    return env.pipeline()


def replayed(task: TaskDeploymentDescriptor, scratch: Path) -> TaskDeploymentDescriptor:
    """Return the task of a replay, as its driver reads it."""
    documents = AttemptDocuments.of(task)
    found = AttemptDocuments.beside(prepare_scratch(documents, task.layout, scratch)).read_descriptor()
    assert found is not None
    return found


def executions(folder: Path, run_id: str, region: str) -> list[AttemptDocuments]:
    (tasks,) = folder.glob(f"staging/bank/{run_id}/tasks/{region}")
    return [AttemptDocuments.beside(str(path)) for path in sorted(tasks.glob("*/descriptor.json"))]


def reading(execution: AttemptDocuments) -> TaskDeploymentDescriptor:
    found = execution.read_descriptor()
    assert found is not None
    return found


def rows_of(task: TaskDeploymentDescriptor, spark: SparkSession, operator: str) -> Sequence[int]:
    return [row[0] for row in named_rows(task, spark)[operator].collect()]


def test_the_previous_version_is_the_one_that_the_execution_read(spark: SparkSession, tmp_path: Path) -> None:
    runs = RunsOfADay(spark=spark, folder=tmp_path)
    for day in (1, 2, 3):
        assert not runs.run(totals(tmp_path, day), f"day{day}", f"2024-01-0{day}")
    (second,) = executions(tmp_path, "day2", "before")
    task = replayed(reading(second), tmp_path / "replay")
    report = execute(task, spark)
    assert report.failure is None
    (staged,) = report.outputs
    assert [row.total for row in spark.read.parquet(str(staged.location)).collect()] == [1]  # not the 6 of now
    assert rows_of(task, spark, "before") == [1]
    (first,) = executions(tmp_path, "day1", "before")
    assert rows_of(replayed(reading(first), tmp_path / "empty"), spark, "before") == []


def test_a_lost_copy_is_not_replaced_by_what_is_there_now(spark: SparkSession, tmp_path: Path) -> None:
    runs = RunsOfADay(spark=spark, folder=tmp_path)
    for day in (1, 2):
        assert not runs.run(totals(tmp_path, day), f"day{day}", f"2024-01-0{day}")
    (second,) = executions(tmp_path, "day2", "before")
    task = replayed(reading(second), tmp_path / "replay")
    shutil.rmtree(f"{tmp_path}/staging/bank/day2/data")
    failure = execute(task, spark).failure
    assert failure is not None
    assert "the copy of what 'before' has read of its target is lost" in failure.message


def test_an_execution_that_staged_no_copy_names_the_attempt_that_did(spark: SparkSession, tmp_path: Path) -> None:
    runs = RunsOfADay(spark=spark, folder=tmp_path)
    (tmp_path / "totals").mkdir()
    (tmp_path / "totals" / "of-others.csv").write_text("total\nno number\n")
    assert runs.run(totals(tmp_path, 1), "day1", "2024-01-01")
    (failed,) = executions(tmp_path, "day1", "before")
    with pytest.raises(PreviousVersionError, match="hint: no attempt has one"):
        replayed(reading(failed), tmp_path / "none")
    (tmp_path / "totals" / "of-others.csv").write_text("total\n7\n")
    assert not runs.run(totals(tmp_path, 1), "day1", "2024-01-01")
    with pytest.raises(PreviousVersionError, match="hint: replay attempt 1: it has one"):
        replayed(reading(failed), tmp_path / "another")


def test_an_increment_that_was_never_taken_is_not_taken_by_a_replay(spark: SparkSession, tmp_path: Path) -> None:
    env = StreamExecutionEnvironment("p")
    source = Json(f"{tmp_path}/in", schema="id INT")
    env.from_source(source, "new", only_new=True).uid("new").sink_to(Parquet(f"{tmp_path}/out"), mode="append")
    runs = Runs(env, tmp_path, spark)
    write(tmp_path / "in" / "one.json", {"id": 1})
    assert runs.run("monday") == []
    (monday,) = runs.last
    write(tmp_path / "in" / "two.json", {"id": 2})
    assert runs.run("tuesday") == []
    assert rows_of(replayed(monday, tmp_path / "replay"), spark, "new") == [1]
    shutil.rmtree(f"{tmp_path}/staging/.positions")
    with pytest.raises(PositionError, match="nothing is recorded of what run 'monday' has read of 'new'"):
        replayed(monday, tmp_path / "lost")
    assert not STORE.keys(f"{tmp_path}/staging/.positions")
