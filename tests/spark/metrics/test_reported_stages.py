"""What a report says about stages, exchanges and vertices, compared with Spark's own event log."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from graph_compiler import DataStream, Parquet, Range, StreamExecutionEnvironment
from graph_compiler.deployment.documents.actual_execution import ActualExecution, ActualVertex, ExchangeRun, Spread
from graph_compiler.deployment.documents.report import ExecutionReport, Phase
from graph_compiler.spark_runtime import region_metrics
from graph_compiler.spark_runtime.spark_internals import executed_plan
from pipelines.flights import env as flights
from tests.harness.event_log import LoggedStage, event_log
from tests.spark import user_functions
from tests.spark.conftest import RunPipeline
from tests.spark.operators.test_operator_table import CASES, Case, write_inputs
from tests.tpch.queries.q03 import SHIPPING_PRIORITY
from tests.tpch.queries.q05 import LOCAL_SUPPLIERS
from tests.tpch.queries.q18 import LARGE_VOLUMES
from tests.tpch.query import Query
from tests.tpch.tables import write_tables

pytestmark = pytest.mark.spark

Declare = Callable[[DataStream, DataStream], DataStream]

READ = ("Shuffle Read Metrics", "Total Records Read")
READ_BYTES = (("Shuffle Read Metrics", "Remote Bytes Read"), ("Shuffle Read Metrics", "Local Bytes Read"))
WRITTEN = ("Shuffle Write Metrics", "Shuffle Records Written")
WRITTEN_BYTES = ("Shuffle Write Metrics", "Shuffle Bytes Written")

TABLE: dict[str, Declare] = {
    "one stage": lambda rows, _: rows.filter("id % 2 = 0").with_columns(x="id * 2"),
    "aggregate": lambda rows, _: rows.key_by("k").aggregate(n="count(*)"),
    "distinct count": lambda rows, _: rows.key_by("k").aggregate(n="count(DISTINCT id % 7)"),
    "broadcast join": lambda rows, names: rows.join(names, on="k"),
    "broadcast join, then aggregate": lambda rows, names: (
        rows.join(names, on="k").name("joined").key_by("x").aggregate(n="count(*)")
    ),
    "union": lambda rows, names: rows.select("k").name("ks").union(names.select("k").name("few")).filter("k >= 0"),
    "union, then aggregate": lambda rows, names: (
        rows.select("k").name("ks").union(names.select("k").name("few")).key_by("k").aggregate(n="count(*)")
    ),
    "deduplicate": lambda rows, _: rows.select("k").name("ks").deduplicate(),
    "sort": lambda rows, _: rows.sort("id DESC"),
    "top": lambda rows, _: rows.top_n(5, "id DESC"),
    "rebalanced": lambda rows, _: rows.filter("id >= 0").set_parallelism(3),
    "function by key": lambda rows, _: rows.key_by("k").aggregate(n="count(*)").name("n").filter("n > 1"),
    "two aggregations": lambda rows, _: (
        rows.key_by("id").aggregate(n="count(*)", k="first(k)").name("by_id").key_by("k").aggregate(n="sum(n)")
    ),
}


@pytest.mark.parametrize("case", TABLE)
def test_the_report_agrees_with_the_event_log(
    case: str, env: StreamExecutionEnvironment, run_pipeline: RunPipeline, spark: SparkSession, tmp_path: Path
) -> None:
    rows = env.from_source(Range(0, 5_000), "rows").with_columns(k="IF(id < 4000, 7, id % 10)").name("keyed")
    names = env.from_source(Range(0, 10), "names").select(k="id", x="id % 3").name("named")
    TABLE[case](rows, names).name("last").sink_to(Parquet(f"{tmp_path}/out")).name("out")
    with event_log(spark, tmp_path / "events") as log:
        reports = run_pipeline(env.pipeline())
    for report in reports:
        assert report.failure is None
        if report.actual is None:  # the stream that a case does not use
            continue
        actual = checked(report, log)
        placed = {vertex.vertex_id for vertex in actual.vertices if vertex.stage_ids}
        assert placed >= {vertex.vertex_id for vertex in report.vertices if vertex.operators[-1].name == "out"}


@pytest.mark.ci
def test_flights_agree_with_the_event_log(
    run_pipeline: RunPipeline, spark: SparkSession, january: Path, tmp_path: Path
) -> None:
    with event_log(spark, tmp_path / "events") as log:
        reports = run_pipeline(flights.pipeline(), {"input": str(january), "output": str(tmp_path / "out")})
    for report in reports:
        checked(report, log)
    exchanges = [exchange for report in reports if report.actual for exchange in report.actual.exchanges]
    assert {exchange.kind for exchange in exchanges} >= {"hash", "broadcast"}
    assert {column for exchange in exchanges for column in exchange.columns} >= {"month"}


@pytest.fixture(scope="module")
def inputs(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the inputs of the table of operators."""
    return write_inputs(spark, tmp_path_factory.mktemp("inputs"))


@pytest.mark.ci
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_every_operator_agrees_with_the_event_log(
    case: Case, inputs: Path, run_pipeline: RunPipeline, spark: SparkSession, tmp_path: Path
) -> None:
    env = StreamExecutionEnvironment("p")
    streams = [env.from_source(Parquet(f"{inputs}/{name}"), name) for name in ("in", "other")]
    case.declare(*streams).sink_to(Parquet(f"{tmp_path}/out")).name("out")
    with event_log(spark, tmp_path / "events") as log:
        reports = run_pipeline(env.pipeline())
    found = [checked(report, log) for report in reports if report.actual is not None]
    assert any(actual.stages for actual in found)


@pytest.mark.ci
@pytest.mark.parametrize("query", [SHIPPING_PRIORITY, LOCAL_SUPPLIERS, LARGE_VOLUMES], ids=["q03", "q05", "q18"])
def test_tpch_agrees_with_the_event_log(
    query: Query, run_pipeline: RunPipeline, spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "tables").mkdir()
    write_tables(tmp_path / "tables")
    with event_log(spark, tmp_path / "events") as log:
        reports = run_pipeline(query.declare(tmp_path / "tables", tmp_path).pipeline())
    for report in reports:
        assert report.failure is None
        assert checked(report, log).exchanges


def test_what_adaptive_execution_split_is_known(
    env: StreamExecutionEnvironment, run_pipeline: RunPipeline, spark: SparkSession, tmp_path: Path
) -> None:
    rows = env.from_source(Range(0, 200_000), "rows").with_columns(k="IF(id < 150000, 7, id % 100)").name("keyed")
    names = env.from_source(Range(0, 100), "names").select(k="id", x="id * 2").name("named")
    rows.join(names, on="k").name("joined").sink_to(Parquet(f"{tmp_path}/out")).name("out")
    settings = {
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.adaptive.advisoryPartitionSizeInBytes": "100000",
        "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes": "50000",
    }
    before = {key: str(spark.conf.get(key)) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    with event_log(spark, tmp_path / "events") as log:
        (report,) = run_pipeline(env.pipeline())
    for key, value in before.items():
        spark.conf.set(key, value)
    actual = checked(report, log)
    assert max(exchange.split or 0 for exchange in actual.exchanges) == 1


def checked(report: ExecutionReport, log: dict[int, LoggedStage]) -> ActualExecution:
    """Compare all that a report says with the log, and return it."""
    actual = report.actual
    assert actual is not None
    assert actual.notes == ()
    stages = {stage.stage_id: stage for stage in actual.stages}
    for id, stage in stages.items():
        logged = log[id]
        assert stage.tasks == len(logged.tasks)
        assert stage.exchange_rows_read == logged.total(*READ)
        assert stage.exchange_bytes_read == sum(logged.total(*path) for path in READ_BYTES)
        assert stage.exchange_rows_written == logged.total(*WRITTEN)
        assert stage.exchange_bytes_written == logged.total(*WRITTEN_BYTES)
        assert stage.input_rows == logged.total("Input Metrics", "Records Read")
        assert stage.input_bytes == logged.total("Input Metrics", "Bytes Read")
        assert stage.output_rows == logged.total("Output Metrics", "Records Written")
        assert stage.disk_spilled == logged.total("Disk Bytes Spilled")
        by_task = logged.by_task(*READ)
        rows = Spread.of([by_task[number] for number in sorted(by_task)])
        if stage.exchange_rows_read and stage.rows_by_task is not None and rows is not None:
            found = stage.rows_by_task
            assert (found.minimum, found.median, found.maximum) == (rows.minimum, rows.median, rows.maximum)
            assert found.largest_task is None or by_task[found.largest_task] == rows.maximum
            assert (found.largest_task is None) == (rows.minimum == rows.maximum and stage.tasks > 1)
    shuffles = [exchange for exchange in actual.exchanges if exchange.kind != "broadcast"]
    evaluated = {id for action in report.actions if action.phase is Phase.EVALUATE for id in action.stage_ids}
    writing = {id for id in stages if log[id].total(*WRITTEN)} - evaluated
    # A stage that passes nothing on has sampled rows for a range exchange, or collected those of a broadcast.
    passing = {id for id in stages if log[id].total(*WRITTEN) or log[id].total("Output Metrics", "Records Written")}
    reading = {id for id in passing if log[id].total(*READ)} - evaluated
    if unread := writing - {exchange.written_by for exchange in shuffles}:
        # Adaptive execution changed the plan while these ran, so no stage of the plan read their rows.
        readers = {exchange.read_by for exchange in shuffles if exchange.read_by is not None}
        read = sum(log[id].total(*READ) for id in readers)
        assert read == sum(exchange.rows or 0 for exchange in shuffles), unread
    assert {exchange.read_by for exchange in shuffles} >= reading
    for exchange in shuffles:
        if exchange.written_by is not None and exchange.rows is not None:
            assert exchange.rows == log[exchange.written_by].total(*WRITTEN)
        if exchange.read_by is not None and exchange.tasks is not None and exchange.bytes_by_task is not None:
            alone = sum(other.read_by == exchange.read_by for other in shuffles) == 1
            is_union = exchange.bytes_by_task.largest_task is None
            assert is_union or not alone or exchange.tasks == len(log[exchange.read_by].tasks)
    for vertex in actual.vertices:
        tasks = [len(log[id].tasks) for id in vertex.stage_ids]
        assert not tasks or (vertex.parallelism or 0) <= max(tasks)
    return actual


def of(report: ExecutionReport, operator: str) -> tuple[ActualVertex, tuple[ExchangeRun, ...]]:
    """Return where an operator's vertex ran, and the exchanges before it."""
    assert report.actual is not None
    (id,) = [one.vertex_id for one in report.vertices if any(each.name == operator for each in one.operators)]
    (vertex,) = [one for one in report.actual.vertices if one.vertex_id == id]
    return vertex, report.actual.exchanges_before(id)


def test_an_exchange_shows_which_columns_were_uneven(
    env: StreamExecutionEnvironment, run_pipeline: RunPipeline, spark: SparkSession, tmp_path: Path
) -> None:
    rows = env.from_source(Range(0, 5_000), "rows").set_parallelism(2).with_columns(k="IF(id < 4000, 7, id % 10)")
    keyed = rows.name("keyed").key_by("k").transform(user_functions.keeps_even).name("even").set_parallelism(4)
    keyed.sink_to(Parquet(f"{tmp_path}/out")).name("out")
    with event_log(spark, tmp_path / "events") as log:
        (report,) = run_pipeline(env.pipeline())
    checked(report, log)
    read, _ = of(report, "rows")
    source, _ = of(report, "keyed")
    even, (exchange,) = of(report, "even")
    assert (read.parallelism, read.splits, source.parallelism, even.parallelism) == (2, 2, 1, 4)
    assert (exchange.kind, exchange.columns, exchange.rows, exchange.partitions) == ("hash", ("k",), 5_000, 4)
    assert exchange.source == source.vertex_id
    assert (exchange.written_by,) == source.stage_ids
    assert (exchange.read_by,) == even.stage_ids
    assert exchange.bytes_by_task is not None
    assert exchange.bytes_by_task.maximum > exchange.bytes_by_task.median
    (stage,) = [one for one in report.actual.stages if one.stage_id == exchange.read_by] if report.actual else []
    assert stage.rows_by_task is not None
    assert stage.rows_by_task.maximum >= 4_000
    assert stage.rows_by_task.largest_task == exchange.bytes_by_task.largest_task


def test_a_failure_to_learn_fails_nothing(
    env: StreamExecutionEnvironment, run_pipeline: RunPipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_missing(*_: object, **__: object) -> None:
        raise AttributeError("no such method in this Spark")

    monkeypatch.setattr(region_metrics, "executed_stages", is_missing)
    env.from_source(Range(0, 10), "rows").sink_to(Parquet(f"{tmp_path}/out")).name("out")
    (report,) = run_pipeline(env.pipeline())
    assert report.failure is None
    assert report.actual is not None
    assert report.actual.stages == ()
    assert "sales · out: prepare: stages are unknown: AttributeError" in report.actual.notes


def test_what_is_missing_in_another_spark_costs_no_row_counts(
    env: StreamExecutionEnvironment, run_pipeline: RunPipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_missing(*_: object) -> None:
        raise AttributeError("no such method in this Spark")

    monkeypatch.setattr(executed_plan, "splits_of", is_missing)
    env.from_source(Range(0, 10), "rows").sink_to(Parquet(f"{tmp_path}/out")).name("out")
    (report,) = run_pipeline(env.pipeline())
    assert report.vertices[0].rows == 10
    assert report.actual is not None
    assert [vertex.stage_ids for vertex in report.actual.vertices] == [()]
    assert len(report.actual.stages) == 1
    assert report.actual.notes == ("sales · out: prepare: where it ran is unknown: AttributeError",)
