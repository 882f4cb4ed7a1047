"""A stream publishes what a batch job over the same files does, however the files are spread over runs and batches."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
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
from tests.harness.position_runs import Runs, write
from tests.spark.streams import functions_of_rows

pytestmark = pytest.mark.spark
COLUMNS = "id INT, word STRING, at TIMESTAMP, price DECIMAL(9, 2)"
BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
CLOSING = 10_000
"""The minute of the last row, which completes all windows before it."""


@dataclass(frozen=True)
class Kind:
    """What is computed of rows and of names, which end; and by which keys it is merged, none if it is appended."""

    declare: Callable[[DataStream, DataStream], DataStream]
    keys: tuple[str, ...] = ()


def windows(window: Window) -> Kind:
    def declare(rows: DataStream, _: DataStream) -> DataStream:
        marked = rows.assign_timestamps_and_watermarks("at", max_out_of_orderness="20 minutes")
        counted = marked.key_by("word").window(window).aggregate(n="count(*)", total="sum(price)", most="max(id)")
        return counted.filter(f"window_start < TIMESTAMP '2024-01-01 00:00:00Z' + INTERVAL {CLOSING - 600} MINUTES")

    return Kind(declare)


def unique(*keys: str) -> Kind:
    """Return rows with few different values, one of each: with their time, it is the same one as in a batch."""

    def declare(rows: DataStream, _: DataStream) -> DataStream:
        marked = rows.assign_timestamps_and_watermarks("at", max_out_of_orderness="20 minutes").drop("id", "price")
        return marked.deduplicate(*keys)

    return Kind(declare)


KINDS = {
    "rows": Kind(lambda rows, _: rows.filter("id % 3 <> 0").with_columns(word="upper(word)").drop("at")),
    "joined": Kind(lambda rows, names: rows.join(names, on="word").select("id", "name")),
    "left": Kind(lambda rows, names: rows.join(names, on="word", how="left").select("id", "name")),
    "anti": Kind(lambda rows, names: rows.join(names, on="word", how="anti").select("id")),
    "exploded": Kind(lambda rows, _: rows.flat_map("explode(sequence(1, id % 3 + 1))", "n").select("id", "n")),
    "partitions": Kind(lambda rows, _: rows.map_partitions(functions_of_rows.doubled, "id INT, twice INT")),
    "totals": Kind(
        lambda rows, _: (
            rows.filter("word IS NOT NULL").key_by("word").aggregate(n="count(*)", total="sum(price)", mean="avg(id)")
        ),
        ("word",),
    ),
    "joined totals": Kind(
        lambda rows, names: rows.join(names, on="word").key_by("name").aggregate(n="count(*)"), ("name",)
    ),
    "tumbling": windows(TumblingEventTimeWindows("at", "30 minutes")),
    "offset": windows(TumblingEventTimeWindows("at", "1 hour", "7 minutes")),
    "sliding": windows(SlidingEventTimeWindows("at", "1 hour", "20 minutes")),
    "unique rows": unique(),
    "unique keys": unique("word", "at"),
    "sessions": windows(EventTimeSessionWindows("at", "10 minutes")),
}


QUICK = ("left", "offset")
"""Those that a quick look needs: a join, and windows."""


def declared(kind: Kind, folder: Path, *, unbounded: bool) -> StreamExecutionEnvironment:
    name = "stream" if unbounded else "batch"
    env = StreamExecutionEnvironment(name, config={"execution.runtime-mode": "AUTOMATIC"})
    rows = env.from_source(Json(f"{folder}/in", schema=COLUMNS), "rows", unbounded=unbounded).uid("rows")
    names = env.from_source(Json(f"{folder}/names", schema="word STRING, name STRING"), "names").uid("names")
    found = kind.declare(rows, names)
    target = Parquet(f"{folder}/{name}")
    if kind.keys:
        found.sink_to(target, mode="merge", keys=kind.keys).uid("out")
    else:
        found.sink_to(target, mode="append").uid("out")
    return env


def files_of(chance: random.Random) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of each file: out of order by less than twenty minutes, with NULLs, and the last one far later."""
    minute = 0
    for number in range(7):
        rows = []
        for row in range(chance.randint(0, 12)):
            minute += chance.choice((0, 0, 1, 5, 25))
            late = chance.randint(0, 19)
            at = None if chance.random() < 0.05 else (BEGIN + timedelta(minutes=minute - late)).isoformat()
            word = chance.choice(["a", "b", "é", "", None])
            rows.append({"id": number * 100 + row, "word": word, "at": at, "price": chance.randint(-999, 999) / 100})
        yield rows
    yield [{"id": 9999, "word": "a", "at": (BEGIN + timedelta(minutes=CLOSING)).isoformat(), "price": 1}]


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.ci) for name in KINDS]
)
def test_a_stream_has_the_batch_answer(name: str, tmp_path: Path, spark: SparkSession) -> None:
    kind, chance = KINDS[name], random.Random(name)
    write(tmp_path / "names" / "names.json", {"word": "a", "name": "one"}, {"word": "é", "name": "two"})
    stream = Runs(declared(kind, tmp_path, unbounded=True), tmp_path, spark)
    (tmp_path / "in").mkdir()
    for number, rows in enumerate(files_of(chance)):
        write(tmp_path / "in" / f"{number}.json", *rows)
        if chance.random() < 0.4:
            assert stream.run(f"run {number}") == []
    assert stream.run("last") == []
    assert stream.run("nothing is left") == []
    assert Runs(declared(kind, tmp_path, unbounded=False), tmp_path, spark, tries=100).run("batch") == []
    found, wanted = (
        sorted(map(tuple, spark.read.parquet(f"{tmp_path}/{each}").collect()), key=repr) for each in ("stream", "batch")
    )
    assert found == wanted
    assert found, "it has rows"
