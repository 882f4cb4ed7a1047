"""The last consumer of a staged result removes it, and a task that needs it later recomputes it."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.declaration.retention import StagingRelease
from graph_compiler.deployment.documents.report import Outcome
from graph_compiler.deployment.documents.staging_layout import OUTCOME
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.spark_runtime import main
from tests.harness.reference import published
from tests.spark.region.test_region_failover import Tasks, with_a_coin

pytestmark = [pytest.mark.spark, pytest.mark.ci]
Make = Callable[..., Tasks]


@pytest.fixture
def make(tmp_path: Path, spark: SparkSession) -> Make:
    """Return the tasks of: first ║ each of some readers; the last of them reads through a second staged result."""
    (tmp_path / "in.csv").write_text("k,v\na,1\na,2\nb,3\n")

    def tasks(*readers: str, release: StagingRelease = StagingRelease.LAST_CONSUMER) -> Tasks:
        env = StreamExecutionEnvironment("p")
        rows = env.from_source(Csv(f"{tmp_path}/in.csv"), "in").with_columns(v="v * 10")
        first = rows.name("first").stage("dear")
        for name in readers:
            kept = first.filter("v > 10").name(f"{name}_rows").stage("dear too")
            kept.filter("v > 0").name(f"{name}_kept").sink_to(Parquet(f"{tmp_path}/{name}")).name(name)
        return Tasks(env, tmp_path, spark, release=release)

    return tasks


def test_nothing_is_released_by_default(make: Make) -> None:
    tasks = make("out", release=StagingRelease.GC)
    for name in tasks.regions:
        assert tasks.run(name).failure is None
    assert [len(tasks.data(name)) for name in list(tasks.regions)[:2]] == [1, 1]


def test_a_result_is_released_after_its_only_reader_and_recomputed_after_a_clear(
    make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = make("out")
    first, second, out = tasks.regions
    tasks.run(first)
    assert len(tasks.data(first)) == 1
    tasks.run(second)
    assert tasks.data(first) == []
    tasks.run(out)
    assert tasks.data(second) == []
    assert "was released by its last consumer, 'out' (execution e002): " in capsys.readouterr().out

    again = tasks.run(out)  # cleared
    assert again.failure is None, again.failure
    assert sorted(published(tmp_path / "out")[1]) == [("a", 20), ("b", 30)]
    assert [(one.producer, one.epoch) for one in again.recomputed] == [(first, 1), (second, 1)]
    assert [one.reason.split(" was ")[1] for one in again.recomputed] == [
        "released by its last consumer, 'out_rows' (execution e001); clear the task that staged it",
        "released by its last consumer, 'out' (execution e002); clear the task that staged it",
    ]
    assert tasks.data(first) == tasks.data(second) == [], "what was computed again goes again"


def test_a_result_is_kept_until_all_readers_finished(make: Make) -> None:
    tasks = make("one", "two")
    first, *_ = tasks.regions
    tasks.run(first)
    tasks.run("one_rows")
    assert len(tasks.data(first)) == 1
    tasks.run("two_rows")
    assert tasks.data(first) == []


def test_a_cleared_reader_keeps_the_result(make: Make) -> None:
    """Its last attempt has not ended: it may be about to read."""
    tasks = make("one", "two")
    first, *_ = tasks.regions
    tasks.run(first)
    tasks.run("one_rows")
    tasks.begin("one_rows")
    tasks.run("two_rows")
    assert len(tasks.data(first)) == 1


def test_a_cleared_reader_that_has_not_started_keeps_the_result(make: Make) -> None:
    """All have finished, and then were cleared: they had read the previous copy."""
    tasks = make("one", "two")
    first, *_ = tasks.regions
    for name in (first, "one_rows", "two_rows"):
        tasks.run(name)
    (tasks.root.parent / "in.csv").write_text("k,v\na,1\na,2\nb,7\n")
    tasks.run(first)
    tasks.run("one_rows")
    assert len(tasks.data(first)) == 1
    assert tasks.run("two_rows").recomputed == ()
    assert tasks.data(first) == []


def test_rows_staged_for_one_execution_are_removed_with_it(tmp_path: Path, spark: SparkSession) -> None:
    (tmp_path / "in.csv").write_text("k,v\na,1\na,2\nb,3\n")
    env = StreamExecutionEnvironment("p")
    coins = env.from_source(Csv(f"{tmp_path}/in.csv"), "in").transform(with_a_coin).name("coins")
    for name in ("one", "two"):
        coins.sink_to(Parquet(f"{tmp_path}/{name}")).name(name)
    tasks = Tasks(env, tmp_path, spark, release=StagingRelease.LAST_CONSUMER)
    (region,) = tasks.regions
    assert tasks.run(region).failure is None
    data = Path(tasks.layout.run, "data")
    assert data.is_dir(), "rows were fixed"
    assert list(data.iterdir()) == []


def test_a_failed_task_releases_nothing(make: Make, tmp_path: Path) -> None:
    tasks = make("out")
    first, second, out = tasks.regions
    tasks.run(first)
    tasks.run(second)
    (tmp_path / "out").write_text("a file where a folder must be")
    assert tasks.run(out).failure is not None
    assert len(tasks.data(second)) == 1


def test_a_task_that_failed_after_its_driver_keeps_the_result(make: Make) -> None:
    tasks = make("one", "two")
    first, *_ = tasks.regions
    tasks.run(first)
    tasks.run("one_rows")
    (folder,) = (Path(tasks.layout.run) / "tasks" / "one_rows").iterdir()
    failed = Outcome(state=ExecutionState.FAILED, ended=1, reason="the network")
    (folder / OUTCOME).write_text(to_json(failed))
    tasks.run("two_rows")
    assert len(tasks.data(first)) == 1


def test_a_failing_release_fails_no_task(
    make: Make, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("read-only")

    tasks = make("out")
    first, second, _ = tasks.regions
    tasks.run(first)
    monkeypatch.setattr(main, "release_inputs", refuse)
    assert tasks.run(second).failure is None
    assert "nothing released" in capsys.readouterr().err
    assert len(tasks.data(first)) == 1
