"""One row of each key of a stream: what a batch keeps, as far as rows of a key are close in time."""

import os
import random
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from graph_compiler import Json, Parquet, StreamExecutionEnvironment
from graph_compiler.spark_runtime.region.coordination import SinkCommitter
from graph_compiler.spark_runtime.streams import stream_query
from tests.harness.position_runs import Runs, write
from tests.lake.dying import die

pytestmark = [pytest.mark.spark, pytest.mark.ci]
BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
DISORDER = 20
"""By how many minutes rows come out of order at most, as the pipelines say."""
Row = tuple[int, str, int | None]
"""A number, a key, and the minute of the event."""


def declared(folder: Path, *keys: str, unbounded: bool = True) -> StreamExecutionEnvironment:
    name = "stream" if unbounded else "batch"
    env = StreamExecutionEnvironment(name, config={"execution.runtime-mode": "AUTOMATIC"})
    source = Json(f"{folder}/in", schema="id INT, key STRING, at TIMESTAMP", options={"maxFilesPerTrigger": 1})
    rows = env.from_source(
        source if unbounded else Json(f"{folder}/in", schema=source.schema), "rows", unbounded=unbounded
    )
    marked = rows.uid("rows").assign_timestamps_and_watermarks("at", max_out_of_orderness=f"{DISORDER} minutes")
    marked.deduplicate(*keys).sink_to(Parquet(f"{folder}/{name}"), mode="append").uid("out")
    return env


def arrive(folder: Path, number: int, rows: Sequence[Row]) -> None:
    """Let a file arrive: Spark takes them in the order of their times."""
    file = folder / "in" / f"{number:03}.json"
    write(file, *map(json_of, rows))
    os.utime(file, (number + 1, number + 1))


def json_of(row: Row) -> dict[str, Any]:
    id, key, minute = row
    at = None if minute is None else (BEGIN + timedelta(minutes=minute)).isoformat()
    return {"id": id, "key": key, "at": at}


def published(spark: SparkSession, folder: Path, name: str = "stream") -> list[Row]:
    found = spark.read.parquet(f"{folder}/{name}").selectExpr("id", "key", "unix_seconds(at) AS at").collect()
    return sorted(
        ((id, key, None if at is None else (at - int(BEGIN.timestamp())) // 60) for id, key, at in found), key=repr
    )


def test_one_row_of_each_key_that_comes_again_within_the_disorder(tmp_path: Path, spark: SparkSession) -> None:
    """Each event arrives up to four times, in several files and runs; all its rows are close in time."""
    chance = random.Random("again")
    runs = Runs(declared(tmp_path, "key"), tmp_path, spark)
    events = [(f"k{number}", number * 5) for number in range(60)]
    files: dict[int, list[Row]] = defaultdict(list)
    for number, (key, minute) in enumerate(events):
        for copy in range(chance.randint(1, 4)):
            at = minute + chance.randint(0, 4)
            files[at // 10].append((number * 10 + copy, key, at))  # a file has ten minutes
    for number, rows in sorted(files.items()):
        arrive(tmp_path, number, chance.sample(rows, len(rows)))
        if chance.random() < 0.2:
            assert runs.run(f"run {number}") == []
    assert runs.run("last") == []
    assert sum(map(len, files.values())) > len(events)
    found = published(spark, tmp_path)
    assert sorted(key for _, key, _ in found) == sorted(key for key, _ in events)
    assert set(found) <= {row for rows in files.values() for row in rows}


@pytest.mark.parametrize("seed", [1, 2])
def test_rows_of_a_key_that_are_published_are_further_apart_than_the_disorder(
    tmp_path: Path, spark: SparkSession, seed: int
) -> None:
    """Of a key with a row in time, at least one is published; a late one is left out and counted, never published."""
    chance = random.Random(seed)
    runs = Runs(declared(tmp_path, "key"), tmp_path, spark)
    latest, in_time, late = -DISORDER, set[str](), set[Row]()
    minute, every = 0, set[Row]()
    for run in range(8):
        rows = []
        for _ in range(chance.randint(1, 12)):
            minute += chance.choice((0, 1, 7, 30))
            rows.append((len(every), chance.choice("abcdef"), max(0, minute - chance.choice((0, 5, 19, 40, 90)))))
            every.add(rows[-1])
        arrive(tmp_path, run, rows)
        assert runs.run(f"run {run}") == []
        for row in rows:
            if run and row[2] <= latest - DISORDER:
                late.add(row)
            else:
                in_time.add(row[1])
        latest = max(latest, *(at for _, _, at in rows))
    found = published(spark, tmp_path)
    assert late, "some rows are late"
    assert late.isdisjoint(found)
    assert set(found) <= every
    assert {key for _, key, _ in found} == in_time
    for key in in_time:
        times = sorted(at for _, each, at in found if each == key and at is not None)
        assert all(after - before > DISORDER for before, after in pairwise(times)), (key, times)
    assert len(found) > len(in_time), "some keys come again much later"


@pytest.mark.parametrize("keys", [("key", "AT"), ("key",)])
def test_rows_without_a_time(tmp_path: Path, spark: SparkSession, keys: tuple[str, ...]) -> None:
    """With the event time among the keys, they are one, as in a batch; else each batch may publish them again."""
    runs = Runs(declared(tmp_path, *keys), tmp_path, spark)
    arrive(tmp_path, 0, [(1, "a", None), (2, "a", None), (3, "b", 100)])
    assert runs.run("one") == []
    arrive(tmp_path, 1, [(4, "a", None), (5, "c", 200)])
    assert runs.run("two") == []
    found = [key for _, key, _ in published(spark, tmp_path)]
    assert sorted(found) == (["a", "b", "c"] if "AT" in keys else ["a", "a", "b", "c"])


@pytest.mark.parametrize("kind", ["DOUBLE", "FLOAT"])
def test_zeros_are_equal_keys(tmp_path: Path, spark: SparkSession, kind: str) -> None:
    env = StreamExecutionEnvironment("stream", config={"execution.runtime-mode": "AUTOMATIC"})
    rows = env.from_source(Json(f"{tmp_path}/in", schema=f"key {kind}, at TIMESTAMP"), "in", unbounded=True).uid("in")
    marked = rows.assign_timestamps_and_watermarks("at", max_out_of_orderness="1 hour")
    marked.deduplicate("key").sink_to(Parquet(f"{tmp_path}/out"), mode="append").uid("out")
    write(tmp_path / "in" / "a.json", *({"key": key, "at": BEGIN.isoformat()} for key in (0.0, -0.0, 0.5)))
    runs = Runs(env, tmp_path, spark)
    assert runs.run("one") == []
    write(tmp_path / "in" / "b.json", {"key": -0.0, "at": BEGIN.isoformat()})
    assert runs.run("two") == []
    assert sorted(key for (key,) in spark.read.parquet(f"{tmp_path}/out").select("key").collect()) == [0, 0.5]


def test_zeros_within_a_key(tmp_path: Path, spark: SparkSession) -> None:
    """Equal, or refused by a Spark that would publish both."""
    env = StreamExecutionEnvironment("stream", config={"execution.runtime-mode": "AUTOMATIC"})
    source = Json(f"{tmp_path}/in", schema="key STRUCT<a: ARRAY<DOUBLE>>, at TIMESTAMP")
    marked = env.from_source(source, "in", unbounded=True).uid("in")
    marked = marked.assign_timestamps_and_watermarks("at", max_out_of_orderness="1 hour")
    marked.deduplicate("key").sink_to(Parquet(f"{tmp_path}/out"), mode="append").uid("out")
    write(tmp_path / "in" / "a.json", *({"key": {"a": [key]}, "at": BEGIN.isoformat()} for key in (0.0, -0.0)))
    failures = Runs(env, tmp_path, spark).run("one")
    if failures:
        assert "may be 0.0 and -0.0" in failures[0]
        assert spark.version.startswith("4.1.")
    else:
        assert spark.read.parquet(f"{tmp_path}/out").count() == 1


def test_a_batch_that_is_repeated_publishes_each_key_once(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs(declared(tmp_path, "key"), tmp_path, spark)
    arrive(tmp_path, 0, [(1, "a", 1), (2, "a", 2)])
    with monkeypatch.context() as patch:
        die(patch, SinkCommitter, "commit", after=True)
        assert len(runs.run("one")) == 1
    arrive(tmp_path, 1, [(3, "a", 3), (4, "b", 4)])
    with monkeypatch.context() as patch:
        die(patch, stream_query, "run_region", after=True)
        assert len(runs.run("one")) == 1
    while runs.run("one"):
        pass
    assert [key for _, key, _ in published(spark, tmp_path)] == ["a", "b"]


def test_a_state_of_other_keys_is_not_continued(tmp_path: Path, spark: SparkSession) -> None:
    arrive(tmp_path, 0, [(1, "a", 1)])
    assert Runs(declared(tmp_path, "key"), tmp_path, spark).run("one") == []
    (failure,) = Runs(declared(tmp_path, "key", "id"), tmp_path, spark, tries=1).run("two")
    assert "'Deduplicate' has changed, or something before it, and the checkpoint has its state" in failure


def test_an_event_time_that_is_gone_is_refused(tmp_path: Path, spark: SparkSession) -> None:
    env = StreamExecutionEnvironment("stream", config={"execution.runtime-mode": "AUTOMATIC"})
    rows = env.from_source(Json(f"{tmp_path}/in", schema="id INT, at TIMESTAMP"), "in", unbounded=True).uid("in")
    marked = rows.assign_timestamps_and_watermarks("at", max_out_of_orderness="1 hour")
    marked.drop("at").deduplicate().sink_to(Parquet(f"{tmp_path}/out"), mode="append").uid("out")
    write(tmp_path / "in" / "a.json", {"id": 1, "at": BEGIN.isoformat()})
    (failure,) = Runs(env, tmp_path, spark).run("one")
    assert "none of its columns is the event time any more, and keys would never be forgotten" in failure
    assert "call it just before" in failure
