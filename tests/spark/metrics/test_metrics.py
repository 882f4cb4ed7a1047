"""Rows, stages and names of what Spark ran, for every operator of a region."""

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from graph_compiler import Csv, DataStream, Parquet, Range, StreamExecutionEnvironment
from graph_compiler.deployment.documents.progress import VERSION, ExecutionProgress
from graph_compiler.deployment.documents.report import ExecutionReport
from graph_compiler.staging.attempts.attempt_documents import AttemptDocuments
from graph_compiler.staging.attempts.progress_file import writing_progress
from pipelines.flights import env as flights
from tests.conftest import with_options
from tests.harness.flights_data import DATA
from tests.spark import user_functions
from tests.spark.conftest import RunPipeline

pytestmark = pytest.mark.spark


def rows_of(*reports: ExecutionReport) -> dict[str, tuple[int | None, int | None]]:
    """Return rows in and out by operator; a side output after a dot."""
    found: dict[str, tuple[int | None, int | None]] = {}
    for operator in [o for report in reports for vertex in report.vertices for o in vertex.operators]:
        found[operator.name] = (operator.rows_in, operator.rows_out)
        found |= {f"{operator.name}.{tag}": (None, rows) for tag, rows in operator.side_rows}
    return found


@pytest.mark.ci
def test_flights_counts_the_rows_of_each_operator(
    run_pipeline: RunPipeline, tmp_path: Path, spark: SparkSession
) -> None:
    reports = run_pipeline(flights.pipeline(), {"input": str(DATA), "output": str(tmp_path / "out")})
    found = rows_of(*reports)
    wanted = {
        "flights": (None, None),  # a filter went into the scan
        "flown": (None, None),  # its condition was moved below the columns of its source
        "flown.cancelled": (None, 8_255),
        "cancelled": (8_255, 8_255),
        "weather": (None, 26_115),
        "with_weather": (None, 328_521),
        "carriers": (None, 16),
        "lateness": (328_521, None),  # the join after it wants carriers that are not null
        "with_carrier_name": (None, 438),
        "late_routes": (438, 438),
        "arrival_is_known": (None, None),  # its column is taken away again behind the count
        "by_month": (185, 185),
        "worst_routes": (10, 10),
    }
    assert {name: found[name] for name in wanted} == wanted
    actions = {action.name: action for report in reports for action in report.actions}
    assert [name for name in actions if not name.endswith("evaluate")] == [
        "flights · with_weather: stage",
        "flights · cancelled: prepare",
        *(
            f"flights · {name}: prepare"
            for name in ("late_routes", "worst_routes", "by_month", "by_weather", "by_plane_age")
        ),
    ]
    last = actions["flights · late_routes: prepare"]
    assert last.shuffle_written_bytes == last.shuffle_read_bytes > 10_000
    assert (last.failed_tasks, last.repeated_stages, last.spilled_bytes) == (0, 0, 0)
    (cancelled,) = (one for name, one in actions.items() if name.endswith("cancelled: prepare"))
    assert cancelled.input_bytes > 10_000
    assert last.seconds > 0
    assert shown_by_spark(spark, last.stage_ids) == {"flights · late_routes: prepare"}
    by_name = {vertex.name: vertex for vertex in reports[-1].vertices}
    vertex = by_name["with_carrier_name -> (regular_routes, Sink: late_routes)"]
    assert vertex.seconds == last.seconds


@pytest.mark.ci
def test_the_slowest_task_of_the_stage_that_waited_for_it_is_known(
    env: StreamExecutionEnvironment, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    numbers = env.from_source(Range(0, 2), "numbers").set_parallelism(2)
    stalled = numbers.transform(user_functions.stalls_on_zero).name("stalled").set_parallelism(2)
    stalled.sink_to(Parquet(f"{tmp_path}/out")).name("out").set_parallelism(2)
    (report,) = run_pipeline(env.pipeline())
    (action,) = (one for one in report.actions if one.operator == "out")
    slowest = action.slowest_task
    assert slowest is not None
    assert slowest.stage_id in action.stage_ids
    assert slowest.tasks == 2
    assert slowest.longest_seconds >= user_functions.STALL
    assert slowest.excess > user_functions.STALL / 3  # the other one's worker starts meanwhile


def shown_by_spark(spark: SparkSession, stage_ids: tuple[int, ...]) -> set[str]:
    """Return the descriptions Spark's UI shows beside stages."""
    assert spark._jsc is not None
    store = spark._jsc.sc().statusStore()
    return {str(store.lastStageAttempt(id).description().get()) for id in stage_ids}


@pytest.mark.long  # a whole pipeline; the cases below are smaller
def test_staging_each_vertex_leaves_few_counts_unknown(
    run_pipeline: RunPipeline, january: Path, tmp_path: Path
) -> None:
    pipeline = with_options(flights.pipeline(), shuffle_mode="ALL_EXCHANGES_BLOCKING")
    reports = run_pipeline(pipeline, {"input": str(january), "output": str(tmp_path / "out")})
    assert {name for name, (_, out) in rows_of(*reports).items() if out is None} == {"flights", "flown"}
    assert rows_of(*reports)["with_weather"] == (26_483 + 26_115, 26_483)


Declare = Callable[[DataStream, DataStream], DataStream]


@pytest.mark.parametrize(
    ("declare", "known"),
    [
        # a count is there where nothing was moved through the operator …
        (
            lambda rows, _: rows.select("id", "k").name("columns").key_by("k").aggregate(n="count(*)"),
            {"rows": 1000, "columns": 1000, "last": 10},
        ),
        (
            lambda rows, _: (
                rows.key_by("k").aggregate(n="count(*)").name("counts").with_columns(x="explode(array(1, 2, 3))")
            ),
            {"rows": 1000, "counts": 10, "last": 30},
        ),
        (
            lambda rows, _: rows.transform(user_functions.keeps_even).name("even").filter("k > 3"),
            {"rows": 1000, "even": 500, "last": 300},
        ),
        (
            lambda rows, names: (
                rows.filter("id >= 100")
                .name("filtered")
                .join(names.filter("k < 5").name("few"), on="k", how="semi")
                .name("semi")
                .with_columns(z="id + 1")
                .name("columns")
                .key_by("k")
                .aggregate(n="count(*)")
            ),
            {"semi": 450, "columns": 450, "last": 5},
        ),
        # … and nowhere else: here the last condition goes below the join, and the join gives what it leaves
        (lambda rows, names: rows.join(names, on="k").name("joined").filter("id >= 100"), {"last": 900}),
        # … here through a sort, which keeps its tag
        (lambda rows, _: rows.transform(user_functions.sorts).name("sorted").filter("id >= 100"), {"last": 900}),
        # … and here into the aggregation, for a key
        (lambda rows, _: rows.key_by("k").aggregate(n="count(*)").name("counts").filter("k > 3"), {"last": 6}),
    ],
)
def test_a_count_is_right_or_unknown(
    declare: Declare,
    known: dict[str, int],
    env: StreamExecutionEnvironment,
    run_pipeline: RunPipeline,
    tmp_path: Path,
    spark: SparkSession,
) -> None:
    spark.range(1000).selectExpr("id", "id % 10 AS k").write.parquet(f"{tmp_path}/rows")
    spark.range(10).selectExpr("id AS k", "'x' AS name").write.parquet(f"{tmp_path}/names")
    rows = env.from_source(Parquet(f"{tmp_path}/rows"), "rows")
    names = env.from_source(Parquet(f"{tmp_path}/names"), "names")
    declare(rows, names).name("last").sink_to(Parquet(f"{tmp_path}/out")).name("out")
    (report,) = run_pipeline(env.pipeline())
    found = {name: out for name, (_, out) in rows_of(report).items() if out is not None}
    assert found == known | {"out": known["last"]}


def test_rows_staged_for_several_readers_are_a_separate_action(
    env: StreamExecutionEnvironment, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    (tmp_path / "in.csv").write_text("x\n" + "1\n" * 50)
    kept = env.from_source(Csv(f"{tmp_path}/in.csv"), "in").filter("rand() < 0.5", rejects="no")
    kept.name("half").sink_to(Parquet(f"{tmp_path}/yes")).name("yes")
    kept.get_side_output("no").sink_to(Parquet(f"{tmp_path}/no")).name("no")
    (report,) = run_pipeline(env.pipeline())
    assert [action.name for action in report.actions if action.operator == "half"] == ["sales · half: share"]
    rows = rows_of(report)
    yes, no = rows["half"][1], rows["half.no"][1]
    assert yes is not None
    assert no is not None
    assert yes + no == 50
    assert rows["in"] == (None, None)  # what decides is moved below its columns


def test_progress_is_reported_in_order(
    env: StreamExecutionEnvironment, run_pipeline: RunPipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = list[ExecutionProgress]()

    @contextmanager
    def keeping(_: AttemptDocuments) -> Iterator[Callable[[ExecutionProgress], None]]:
        yield told.append

    monkeypatch.setattr("graph_compiler.spark_runtime.main.writing_progress", keeping)
    (tmp_path / "in.csv").write_text("x\n" + "1\n" * 50)
    kept = env.from_source(Csv(f"{tmp_path}/in.csv"), "in").filter("rand() < 0.5", rejects="no")
    kept.name("half").sink_to(Parquet(f"{tmp_path}/yes")).name("yes")
    kept.get_side_output("no").sink_to(Parquet(f"{tmp_path}/no")).name("no")
    (report,) = run_pipeline(env.pipeline())
    steps = [f"{one.current.operator}: {one.current.phase}" if one.current else "" for one in told]
    begun = [step for step in steps if step]
    assert begun[begun.index("half: evaluate") :][:7] == [
        "half: evaluate",
        "half: share",
        "half: evaluate",  # it goes on
        "no: evaluate",
        "yes: evaluate",
        "no: prepare",
        "yes: prepare",
    ]
    assert told[-1] == ExecutionProgress(
        version=VERSION,
        application_id=str(report.application_id),
        ui_url=None,  # off in tests
        current=None,
        vertices=report.vertices,
        actions=report.actions,
    )
    before = told[steps.index("yes: prepare")]
    assert "no" in {one.operator for one in before.actions}
    assert "yes" not in {one.operator for one in before.actions}
    since = [one.current.since for one in told if one.current]
    assert since[0] == min(since) > 0


def test_unwritable_progress_is_not_a_failure(
    env: StreamExecutionEnvironment,
    run_pipeline: RunPipeline,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def full(_source: str, _target: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("graph_compiler.staging.store.local_store.os.replace", full)
    monkeypatch.setattr("graph_compiler.spark_runtime.main.writing_progress", partial(writing_progress, every=0.001))
    (tmp_path / "in.csv").write_text("x\n" + "1\n" * 50)
    env.from_source(Csv(f"{tmp_path}/in.csv"), "in").sink_to(Parquet(f"{tmp_path}/out")).name("out")
    (report,) = run_pipeline(env.pipeline())
    assert report.failure is None
    assert rows_of(report)["out"] == (50, 50)
    said = capsys.readouterr().err
    assert said.count("graph_compiler: progress is no longer reported: [Errno 28]") == 1
    assert not [*tmp_path.rglob("*progress.json*")]


def test_an_unreadable_plan_only_loses_its_counts(
    env: StreamExecutionEnvironment,
    run_pipeline: RunPipeline,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("graph_compiler.spark_runtime.spark_internals.executed_plan.MOST_NODES", 3)
    (tmp_path / "in.csv").write_text("x\n1\n0\n")
    env.from_source(Csv(f"{tmp_path}/in.csv"), "in").key_by("x").aggregate(n="count(*)").name("counts").filter(
        "n > 0"
    ).name("later").sink_to(Parquet(f"{tmp_path}/out")).name("out")
    (report,) = run_pipeline(env.pipeline())
    assert rows_of(report) == {"in": (None, None), "counts": (None, None), "later": (None, 2), "out": (2, 2)}
    assert (
        "graph_compiler: sales · out: prepare: rows are unknown: the plan has more than 3 nodes"
        in capsys.readouterr().err
    )
