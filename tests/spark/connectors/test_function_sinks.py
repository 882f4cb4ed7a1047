"""Sinks that hand their rows to a function: what it gets, how often, and when."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from pyspark.sql import DataFrame, SparkSession

from graph_compiler import FunctionSink, Parquet, Range, SinkRun, StreamExecutionEnvironment, Table
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.errors import DecisionLostError, PublicationError, SchemaChangedError
from graph_compiler.explain.plan.plan_writer import plan_of
from graph_compiler.explain.text.plan_text import explain_text
from graph_compiler.spark_runtime.connectors.memory import location_of
from graph_compiler.staging.publications.ledger import Ledger
from tests.harness.sinks import Sinks
from tests.spark.conftest import RunPipeline

pytestmark = pytest.mark.spark

CALLS: list[tuple[list[Any], SinkRun]] = []
FAIL: list[BaseException] = []
AT_CALL: list[Callable[[], object]] = []
SEEN: list[object] = []


@pytest.fixture(autouse=True)
def _no_calls() -> None:
    for each in (CALLS, FAIL, AT_CALL, SEEN):
        each.clear()


def keep(rows: DataFrame, run: SinkRun) -> None:
    SEEN.extend(look() for look in AT_CALL)
    CALLS.append((sorted(tuple(row) for row in rows.collect()), run))
    if FAIL:
        raise FAIL.pop()


def keep_twice(rows: DataFrame, run: SinkRun) -> None:
    keep(rows, run)
    keep(rows, run)


def keep_apart(rows: DataFrame, run: SinkRun) -> None:
    CALLS.append((sorted(tuple(row) for row in rows.toLocalIterator()), run))


def count_by_partition(rows: DataFrame, run: SinkRun) -> None:
    counted = rows.sparkSession.sparkContext.accumulator(0)
    rows.foreachPartition(lambda part: counted.add(sum(1 for _ in part)))
    CALLS.append(([counted.value], run))


def forget(rows: DataFrame, run: SinkRun) -> None:
    CALLS.append(([rows.columns], run))


def give_back(rows: DataFrame, run: SinkRun) -> DataFrame:
    return rows.withColumn("sent", rows.id * 0 + len(run.id))


SINK = FunctionSink(keep)
VARYING = "SELECT id, rand() AS r FROM range(20)"


def test_a_function_gets_the_rows_of_the_run_and_a_run_delivers_once(
    sinks: Sinks, capsys: pytest.CaptureFixture[str]
) -> None:
    first = sinks.write(SINK, "SELECT id FROM range(3)", mode="append")
    again = sinks.write(SINK, "SELECT id FROM range(3)", mode="append")
    sinks.write(SINK, "SELECT id FROM range(2)", mode="append", run="r2")
    assert [rows for rows, _ in CALLS] == [[(0,), (1,), (2,)], [(0,), (1,)]]
    assert (first.rows, again.rows) == (3, 3)
    assert first.location == again.location == location_of(SINK)
    assert "is not called again: execution e0 of this run has already appended 3 rows" in capsys.readouterr().err
    (_, one), (_, other) = CALLS
    assert one == SinkRun(id="p/r1/" + "ab" * 16, attempt_id="e0", pipeline="p", run_id="r1")
    assert other.id == "p/r2/" + "ab" * 16


def test_a_function_that_fails_is_called_again_with_the_same_id_and_leaves_no_rows(sinks: Sinks) -> None:
    FAIL.append(OSError("the service is down"))
    with pytest.raises(OSError, match="the service is down"):
        sinks.write(SINK, "SELECT id FROM range(3)", mode="append")
    assert list(sinks.root.rglob("*.parquet")) == []
    sinks.write(SINK, "SELECT id FROM range(3)", mode="append")
    (first, one), (second, other) = CALLS
    assert first == second
    assert one.id == other.id
    assert one.attempt_id != other.attempt_id
    assert list(sinks.root.rglob("*.parquet")) == []


def test_a_driver_that_dies_after_the_call_delivers_again(sinks: Sinks, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "decide", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            sinks.write(SINK, "SELECT id FROM range(3)", mode="append")
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "finish", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            sinks.write(SINK, "SELECT id FROM range(3)", mode="append")
    sinks.write(SINK, "SELECT id FROM range(3)", mode="append")
    assert len(CALLS) == 2  # the second one has recorded that it returned
    assert len({run.id for _, run in CALLS}) == 1


def test_an_attempt_that_wakes_up_after_a_later_one_has_delivered_delivers_nothing(
    spark: SparkSession, sinks: Sinks
) -> None:
    sleeping = sinks.prepare(SINK, spark.range(3), mode="append")
    sinks.write(SINK, spark.range(3), mode="append", run="r2")
    sinks.write(SINK, spark.range(4), mode="append")
    with pytest.raises(DecisionLostError, match="another attempt of this run has delivered"):
        sleeping.publish()
    assert [(run.run_id, len(rows)) for rows, run in CALLS] == [("r2", 3), ("r1", 4)]


def test_two_runs_at_once_deliver_once_each(spark: SparkSession, sinks: Sinks) -> None:
    one = sinks.prepare(SINK, spark.range(1), mode="append", run="r1")
    other = sinks.prepare(SINK, spark.range(2), mode="append", run="r2")
    other.publish()
    one.publish()
    sinks.write(SINK, spark.range(1), mode="append", run="r1")
    sinks.write(SINK, spark.range(2), mode="append", run="r2")
    assert [(run.run_id, len(rows)) for rows, run in CALLS] == [("r2", 2), ("r1", 1)]


def test_rows_are_the_same_in_each_read_though_computing_them_gives_others(sinks: Sinks) -> None:
    sinks.write(FunctionSink(keep_twice), VARYING, mode="append")
    (one, _), (other, _) = CALLS
    assert one == other
    assert len(one) == 20


@pytest.mark.parametrize("function", [keep_apart, count_by_partition])
def test_rows_may_be_read_in_other_ways(function: Callable[[DataFrame, SinkRun], None], sinks: Sinks) -> None:
    sinks.write(FunctionSink(function), "SELECT id FROM range(3)", mode="append")
    assert [rows for rows, _ in CALLS] in ([[(0,), (1,), (2,)]], [[3]])


def test_a_function_that_reads_nothing_fails_unless_there_is_nothing(sinks: Sinks) -> None:
    with pytest.raises(PublicationError, match="returned without reading its 3 rows: no Spark job has run"):
        sinks.write(FunctionSink(forget), "SELECT id FROM range(3)", mode="append")
    assert sinks.write(FunctionSink(forget), "SELECT id FROM range(0)", mode="append").rows == 0


def test_a_function_that_returns_rows_has_not_written_them(sinks: Sinks) -> None:
    with pytest.raises(TypeError, match="returned a DataFrame, which is not read"):
        sinks.write(FunctionSink(give_back), "SELECT id FROM range(3)", mode="append")


def test_columns_are_compared_with_those_that_are_declared(sinks: Sinks) -> None:
    sinks.write(FunctionSink(keep, schema="id BIGINT"), "SELECT id FROM range(1)", mode="append")
    with pytest.raises(SchemaChangedError, match="column 'extra' was added"):
        sinks.write(FunctionSink(keep, schema="id BIGINT"), "SELECT id, 1 AS extra FROM range(1)", run="r2")


def both(tmp_path: Path, condition: str = "true", *, other_first: bool = False) -> StreamExecutionEnvironment:
    """Return a split whose two sides are a function and files, behind a contract."""
    env = StreamExecutionEnvironment("p")
    rows = env.from_source(Range(0, 4), "ids").expect("small", condition, on_violation="fail")
    odd = rows.filter("id % 2 = 0", rejects="odd").name("split")

    def to_files() -> None:
        odd.get_side_output("odd").sink_to(Parquet(f"{tmp_path}/odd")).name("files")

    if other_first:
        to_files()
    odd.sink_to(SINK, mode="append").name("send").uid("send")
    if not other_first:
        to_files()
    return env


@pytest.mark.parametrize("other_first", [False, True])
def test_a_function_is_called_when_all_other_sinks_are_published(
    run_pipeline: RunPipeline, tmp_path: Path, spark: SparkSession, other_first: bool
) -> None:
    AT_CALL.append(lambda: spark.read.parquet(f"{tmp_path}/odd").count())
    (report,) = run_pipeline(both(tmp_path, other_first=other_first).pipeline())
    assert report.failure is None, report.failure
    assert SEEN == [2]
    assert [rows for rows, _ in CALLS] == [[(0,), (2,)]]
    assert {output.name: (output.kind, output.rows) for output in report.outputs} == {
        "files": ("sink", 2),
        "send": ("sink", 2),
    }
    assert "at least once" in next(output.location for output in report.outputs if output.name == "send")
    assert CALLS[0][1].run_id == "run"


def test_a_function_is_not_called_if_a_contract_is_violated(run_pipeline: RunPipeline, tmp_path: Path) -> None:
    (report,) = run_pipeline(both(tmp_path, "id < 3").pipeline())
    assert report.failure is not None
    assert "small" in report.failure.message
    assert CALLS == []
    assert not (tmp_path / "odd").exists()


def test_a_failure_names_the_function_and_a_retry_publishes_nothing_twice(
    run_pipeline: RunPipeline, tmp_path: Path, spark: SparkSession
) -> None:
    FAIL.append(OSError("503"))
    (failed,) = run_pipeline(both(tmp_path).pipeline())
    assert failed.failure is not None
    assert (failed.failure.operator, str(failed.failure.throwable_type)) == ("send", "RECOVERABLE_ERROR")
    assert "503" in failed.failure.message
    (report,) = run_pipeline(both(tmp_path).pipeline())
    assert report.failure is None, report.failure
    assert len(CALLS) == 2
    assert spark.read.parquet(f"{tmp_path}/odd").count() == 2
    run_pipeline(both(tmp_path).pipeline())
    assert len(CALLS) == 2


def test_two_sinks_may_have_one_function(run_pipeline: RunPipeline) -> None:
    env = StreamExecutionEnvironment("p")
    for name, end in (("one", 1), ("two", 2)):
        env.from_source(Range(0, end), name).sink_to(SINK, mode="append").name(f"send_{name}")
    reports = run_pipeline(env.pipeline())
    assert [report.failure for report in reports] == [None] * len(reports)
    assert sorted(len(rows) for rows, _ in CALLS) == [1, 2]
    assert len({run.id for _, run in CALLS}) == 2


def test_a_plan_says_which_sinks_deliver_at_least_once() -> None:
    env = StreamExecutionEnvironment("p")
    rows = env.from_source(Range(0, 4), "ids")
    rows.sink_to(SINK, mode="append").name("send")
    rows.sink_to(Table("t"), mode="append").name("table")
    rows.sink_to(Parquet("/out")).name("files")
    plan = plan_of(compile_pipeline(env.pipeline()))
    assert {one.name for one in plan.operators if one.delivery} == {"send", "table"}
    words = "delivered at least once: if it fails, or its driver dies, the next attempt calls it again"
    assert f"send: {words}" in explain_text(plan)
    assert [words for one in plan.operators if words in one.details] == [words]
