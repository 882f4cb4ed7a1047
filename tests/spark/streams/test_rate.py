"""A `Rate` as a stream: a batch that is repeated has the same rows, and what determines them is compared."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from graph_compiler import Parquet, Rate, StreamExecutionEnvironment, TumblingEventTimeWindows
from graph_compiler.declaration.connectors import Connector
from graph_compiler.spark_runtime.connectors.source import read_source
from graph_compiler.spark_runtime.region.coordination import SinkCommitter
from graph_compiler.spark_runtime.streams import stream_query
from graph_compiler.spark_runtime.streams.batch_inputs import BatchInputs
from graph_compiler.staging.publications.ledger import Ledger
from tests.harness.position_runs import Runs
from tests.harness.savepoints import save_and_reset
from tests.lake.dying import die

pytestmark = [pytest.mark.spark, pytest.mark.ci]
Rows = list[tuple[Any, ...]]
DAY = "2024-01-01T12:00:00+02:00"


def numbers(folder: Path, source: Connector, config: dict[str, str] | None = None) -> StreamExecutionEnvironment:
    """Keep all values, and count them by their remainder."""
    env = StreamExecutionEnvironment("numbers", config={"execution.runtime-mode": "AUTOMATIC", **(config or {})})
    read = env.from_source(source, "numbers", unbounded=True).uid("numbers")
    read.select("value", at="CAST(timestamp AS STRING)").sink_to(Parquet(f"{folder}/rows"), mode="append").uid("rows")
    return env


def rows(spark: SparkSession, folder: Path, name: str = "rows") -> Rows:
    return sorted(map(tuple, spark.read.parquet(f"{folder}/{name}").collect()))


def test_each_run_has_the_next_numbers_whatever_the_clock(tmp_path: Path, spark: SparkSession) -> None:
    runs = Runs(numbers(tmp_path, Rate(2, start=DAY, advance="1 hour")), tmp_path, spark)
    assert runs.run("one") == []
    assert runs.run("two") == []
    assert rows(spark, tmp_path) == [
        *((value, "2024-01-01 10:00:00") for value in (0, 1)),
        *((value, "2024-01-01 11:00:00") for value in (2, 3)),
    ]
    assert [batch.rows for batch in runs.report().batches] == [2]
    runs.env = numbers(tmp_path, Rate(1, start=DAY, advance="0 seconds"))
    assert runs.run("three") == []
    assert rows(spark, tmp_path)[4:] == [(4, "2024-01-01 12:00:00")]


def test_a_batch_job_has_the_rows_of_the_first_run(spark: SparkSession) -> None:
    found = read_source(Rate(2, start=DAY), spark)
    assert found.dtypes == [("timestamp", "timestamp"), ("value", "bigint")]
    assert [tuple(row) for row in found.selectExpr("CAST(timestamp AS STRING)", "value").collect()] == [
        ("2024-01-01 10:00:00", 0),
        ("2024-01-01 10:00:00", 1),
    ]


@pytest.mark.parametrize(
    ("place", "after"),
    [
        ((BatchInputs, "check"), False),
        ((SinkCommitter, "prepare"), True),
        ((Ledger, "decide"), True),
        ((Ledger, "finish"), True),
        ((stream_query, "run_region"), True),
    ],
    ids=str,
)
def test_a_batch_that_is_repeated_has_the_same_numbers(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, place: tuple[Any, str], *, after: bool
) -> None:
    """Also if the next driver has another number of rows per batch."""
    runs = Runs(numbers(tmp_path, Rate(3)), tmp_path, spark)
    die(monkeypatch, *place, after=after)
    assert len(runs.run("one")) == 1
    runs.env = numbers(tmp_path, Rate(5))
    assert runs.run("one") == []
    runs.env = numbers(tmp_path, Rate(2))
    assert runs.run("two") == []
    found = rows(spark, tmp_path)
    assert found[:3] == [(0, "1970-01-01 00:00:00"), (1, "1970-01-01 00:00:00"), (2, "1970-01-01 00:00:00")]
    assert [value for value, _ in found] == list(range(10))


def test_windows_over_numbers_are_complete(tmp_path: Path, spark: SparkSession) -> None:
    env = StreamExecutionEnvironment("numbers", config={"execution.runtime-mode": "AUTOMATIC"})
    read = env.from_source(Rate(4, start=DAY, advance="30 minutes"), "numbers", unbounded=True).uid("numbers")
    marked = read.assign_timestamps_and_watermarks("timestamp", max_out_of_orderness="1 minute")
    hours = marked.window_all(TumblingEventTimeWindows("timestamp", "1 hour")).aggregate(n="count(*)", sum="sum(value)")
    hours.select("n", "sum").sink_to(Parquet(f"{tmp_path}/hours"), mode="append").uid("hours")
    runs = Runs(env, tmp_path, spark)
    for number in range(6):
        assert runs.run(str(number)) == []
    assert rows(spark, tmp_path, "hours") == [(8, sum(range(8))), (8, sum(range(8, 16)))]


def test_another_start_is_refused_and_continued_by_a_savepoint(tmp_path: Path, spark: SparkSession) -> None:
    runs = Runs(numbers(tmp_path, Rate(2, start=DAY)), tmp_path, spark)
    assert runs.run("one") == []
    runs.env = numbers(tmp_path, Rate(2, start="2030-01-01"))
    (failure,) = runs.run("two")
    assert "its start is 2030-01-01T00:00:00+00:00, and was 2024-01-01T10:00:00+00:00 when the stream began" in failure
    path = save_and_reset(f"{tmp_path}/staging")
    runs.env = numbers(tmp_path, Rate(2, start="2030-01-01"), {"execution.savepoint.path": path})
    assert runs.run("three") == []
    assert [value for value, _ in rows(spark, tmp_path)] == [0, 1, 2, 3]
    assert runs.run("four") == []
    runs.env = numbers(tmp_path, Rate(2, start=DAY), {"execution.savepoint.path": path})
    (failure,) = runs.run("five")
    assert "and was 2030-01-01T00:00:00+00:00 when the stream began" in failure


def test_another_kind_of_source_does_not_continue_a_stream(tmp_path: Path, spark: SparkSession) -> None:
    (tmp_path / "in").mkdir()
    spark.range(3).selectExpr("id AS value", "TIMESTAMP '2024-01-01' AS timestamp").write.parquet(f"{tmp_path}/in/a")
    files = Parquet(f"{tmp_path}/in/*", schema="value BIGINT, timestamp TIMESTAMP")
    runs = Runs(numbers(tmp_path, files), tmp_path, spark)
    assert runs.run("one") == []
    runs.env = numbers(tmp_path, Rate(2))
    (failure,) = runs.run("two")
    assert "its format is rate-micro-batch, and was not there when the stream began" in failure
