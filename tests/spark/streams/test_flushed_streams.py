"""The end of a run completes windows, though no later row has come: what a batch job has, a stream has then, too."""

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from graph_compiler import (
    DataStream,
    EventTimeSessionWindows,
    Json,
    Parquet,
    SlidingEventTimeWindows,
    StreamExecutionEnvironment,
    TumblingEventTimeWindows,
)
from graph_compiler.declaration.windows import Window
from graph_compiler.spark_runtime.region.coordination import SinkCommitter
from graph_compiler.spark_runtime.streams import stream_query
from graph_compiler.staging.publications.ledger import Ledger
from tests.harness.position_runs import Runs, write
from tests.lake.dying import die
from tests.spark.streams.process_functions import Reminders

pytestmark = [pytest.mark.spark, pytest.mark.ci]
BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
Declare = Callable[[DataStream], DataStream]


def windows(window: Window) -> Declare:
    return lambda rows: rows.key_by("word").window(window).aggregate(n="count(*)", total="sum(price)")


def reminders(rows: DataStream) -> DataStream:
    named = rows.select("id", "at", user="word")
    return named.key_by("user").process(Reminders, "user STRING, what STRING, at BIGINT, ids ARRAY<INT>", time="at")


KINDS: dict[str, Declare] = {
    "tumbling": windows(TumblingEventTimeWindows("at", "30 minutes")),
    "offset": windows(TumblingEventTimeWindows("at", "1 hour", "7 minutes")),
    "sliding": windows(SlidingEventTimeWindows("at", "1 hour", "20 minutes")),
    "sessions": windows(EventTimeSessionWindows("at", "10 minutes")),
    "timers": reminders,
}
HOURS = windows(TumblingEventTimeWindows("at", "1 hour"))
DAY = 24 * 60


def declared(declare: Declare, folder: Path, flush: str | None) -> StreamExecutionEnvironment:
    """Return a stream, or the batch job of it if there is nothing to flush."""
    name = "batch" if flush is None else "stream"
    config = {"execution.runtime-mode": "AUTOMATIC", **({} if flush is None else {"execution.flush": flush})}
    env = StreamExecutionEnvironment(name, config=config)
    source = Json(f"{folder}/in", schema="id INT, word STRING, at TIMESTAMP, price DECIMAL(9, 2)")
    rows = env.from_source(source, "rows", unbounded=flush is not None).uid("rows")
    marked = rows.assign_timestamps_and_watermarks("at", max_out_of_orderness="20 minutes")
    declare(marked).sink_to(Parquet(f"{folder}/{name}"), mode="append").uid("out")
    return env


def arrive(folder: Path, name: str, *minutes: int) -> None:
    write(folder / "in" / f"{name}.json", *(row(number, minute) for number, minute in enumerate(minutes)))


def row(id: int, minute: int, word: str | None = "a") -> dict[str, Any]:
    return {"id": id, "word": word, "at": (BEGIN + timedelta(minutes=minute)).isoformat(), "price": id % 999}


def rows(spark: SparkSession, folder: Path, name: str = "stream") -> list[tuple[Any, ...]]:
    return sorted(map(tuple, spark.read.parquet(f"{folder}/{name}").collect()), key=repr)


def hours(spark: SparkSession, folder: Path) -> list[tuple[int, int]]:
    """Return which hours are published, each with its number of rows."""
    found = spark.read.parquet(f"{folder}/stream").selectExpr("window_start", "n").collect()
    begin = BEGIN.replace(tzinfo=None)
    return sorted((int((start - begin) / timedelta(hours=1)), n) for start, n in found)


@pytest.mark.parametrize("name", KINDS)
def test_a_stream_that_ends_has_the_batch_answer(name: str, tmp_path: Path, spark: SparkSession) -> None:
    chance, minute, id = random.Random(name), 0, 0
    growing = Runs(declared(KINDS[name], tmp_path, "NONE"), tmp_path, spark)
    for number in range(4):
        found = []
        for _ in range(chance.randint(3, 9)):
            minute += chance.choice((0, 1, 5, 25))
            id += 1
            found.append(row(id, minute - chance.randint(0, 19), chance.choice(["a", "b", "é"])))
        write(tmp_path / "in" / f"{number}.json", *found)
        assert growing.run(f"run {number}") == []
    ending = Runs(declared(KINDS[name], tmp_path, "END"), tmp_path, spark, tries=100)
    assert ending.run("last") == []
    assert Runs(declared(KINDS[name], tmp_path, None), tmp_path, spark, tries=200).run("batch") == []
    wanted = rows(spark, tmp_path, "batch")
    assert wanted
    assert rows(spark, tmp_path) == wanted
    assert ending.run("nothing is new") == []
    assert ending.report().batches == ()
    assert rows(spark, tmp_path) == wanted


def test_a_run_completes_the_windows_of_its_data_interval(tmp_path: Path, spark: SparkSession) -> None:
    runs = Runs(declared(HOURS, tmp_path, "DATA_INTERVAL_END"), tmp_path, spark)
    (tmp_path / "in").mkdir()
    assert runs.run("before anything has arrived") == []
    arrive(tmp_path, "1", 5, 70, 23 * 60 + 50)
    assert runs.run("first") == []
    assert hours(spark, tmp_path) == [(0, 1), (1, 1), (23, 1)]
    (_, flushed) = runs.report().batches[0], runs.report().batches[-1]
    assert flushed.progress is not None
    assert flushed.progress.watermark == "2024-01-02T00:00:00.000Z"
    runs.day = "2024-01-02"
    arrive(tmp_path, "2", 23 * 60 + 59, DAY, DAY + 59, 2 * DAY - 1, 2 * DAY)
    assert runs.run("second") == []
    assert hours(spark, tmp_path) == [(0, 1), (1, 1), (23, 1), (24, 2), (47, 1)]
    assert sum(batch.late for batch in runs.report().batches) == 1  # of the first day
    assert runs.run("of an earlier day") == []
    runs.day = "2024-01-03"
    assert runs.run("third") == []
    assert hours(spark, tmp_path)[-1] == (48, 1)


def test_an_interval_that_has_not_ended_makes_no_row_late(tmp_path: Path, spark: SparkSession) -> None:
    runs = Runs(declared(HOURS, tmp_path, "DATA_INTERVAL_END"), tmp_path, spark, day="2999-01-01")
    arrive(tmp_path, "1", 5, 70)
    assert runs.run("of a day to come") == []
    arrive(tmp_path, "2", 75)
    runs.day = "2024-01-01"
    assert runs.run("first") == []
    assert hours(spark, tmp_path) == [(0, 1), (1, 2)]


def test_a_stream_that_has_ended_refuses_new_rows(tmp_path: Path, spark: SparkSession) -> None:
    runs = Runs(declared(HOURS, tmp_path, "END"), tmp_path, spark)
    arrive(tmp_path, "1", 5, 70)
    assert runs.run("first") == []
    arrive(tmp_path, "2", 80)
    (message,) = runs.run("second")
    assert "a run with the option 'execution.flush': END has ended the stream of 'rows'" in message
    assert "graph-compiler streams reset stream rows" in message
    without = Runs(declared(HOURS, tmp_path, "NONE"), tmp_path, spark, tries=100)
    assert without.run("third") == [message]
    assert hours(spark, tmp_path) == [(0, 1), (1, 1)]


@pytest.mark.parametrize(
    ("place", "after", "skips"),
    [
        ((stream_query, "begin_flush"), False, 0),
        ((stream_query, "begin_flush"), True, 0),
        ((SinkCommitter, "prepare"), False, 1),
        ((Ledger, "decide"), True, 1),
        ((SinkCommitter, "commit"), True, 1),
        ((stream_query, "run_region"), True, 1),
    ],
    ids=str,
)
def test_a_driver_that_dies_at_the_end_publishes_each_window_once(
    tmp_path: Path,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    place: tuple[Any, str],
    after: bool,
    skips: int,
) -> None:
    runs = Runs(declared(HOURS, tmp_path, "DATA_INTERVAL_END"), tmp_path, spark)
    arrive(tmp_path, "1", 5, 70, 23 * 60 + 50)
    if skips:
        flush = Runs(declared(HOURS, tmp_path, "NONE"), tmp_path, spark, tries=100)
        assert flush.run("the batches before") == []
    die(monkeypatch, *place, after=after)
    assert len(runs.run("first")) == 1
    arrive(tmp_path, "2", DAY + 5)
    assert runs.run("first") == []
    assert hours(spark, tmp_path) == [(0, 1), (1, 1), (23, 1)]
    runs.day = "2024-01-02"
    assert runs.run("second") == []
    assert hours(spark, tmp_path) == [(0, 1), (1, 1), (23, 1), (24, 1)]
