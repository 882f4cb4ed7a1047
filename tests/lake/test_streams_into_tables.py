"""Streams into tables of Iceberg and Delta: each batch is one commit, whatever happens to its driver."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from graph_compiler import Delta, Iceberg, Json, StreamExecutionEnvironment, TumblingEventTimeWindows
from graph_compiler.spark_runtime.region.coordination import SinkCommitter
from graph_compiler.spark_runtime.streams import stream_query
from graph_compiler.staging.publications.ledger import Ledger
from tests.harness.position_runs import Runs, write
from tests.lake.conftest import Lake
from tests.lake.dying import die

pytestmark = pytest.mark.lake
FORMATS = ("iceberg", "delta")
COLUMNS = "id INT, word STRING, at TIMESTAMP, n INT"
SCHEMAS = {
    "copied": "id INT, word STRING, n INT",
    "totals": "word STRING, total BIGINT",
    "windows": "word STRING, minute INT, total BIGINT",
}
FIRST = [(1, "to", 0, 1), (2, "be", 1, 2), (3, "be", 7, 3), (4, "or", 12, 4)]
SECOND = [(5, "be", 9, 5), (6, "not", 15, 6), (7, "to", 31, 7)]


class World:
    """A folder in which rows arrive, and the tables that a stream writes."""

    def __init__(self, format: str, folder: Path, lake: Lake) -> None:
        self.format, self.folder, self.lake = format, folder, lake
        self.files = 0
        for name, columns in SCHEMAS.items():
            if format == "iceberg":
                lake.create(columns, name)
            else:
                lake.spark.sql(f"CREATE TABLE delta.`{folder}/{name}` ({columns}) USING delta")

    def table(self, name: str) -> Iceberg | Delta:
        return self.lake.table(name) if self.format == "iceberg" else Delta(f"{self.folder}/{name}")

    def rows(self, name: str) -> list[tuple[Any, ...]]:
        if self.format == "iceberg":
            self.lake.spark.catalog.refreshTable(f"{self.lake.name}.db.{name}")
            return self.lake.rows(name)
        found = self.lake.spark.read.format("delta").load(f"{self.folder}/{name}").collect()
        return sorted(map(tuple, found), key=repr)

    def commits(self, name: str) -> int:
        """Count the commits of a table that have changed rows."""
        if self.format == "iceberg":
            return self.lake.spark.table(f"{self.lake.name}.db.{name}.snapshots").count()
        found = self.lake.spark.sql(f"DESCRIBE HISTORY delta.`{self.folder}/{name}`")
        return found.where("operation IN ('WRITE', 'MERGE')").count()

    def arrive(self, rows: list[tuple[int, str, int, int]]) -> None:
        self.files += 1
        named = ({"id": i, "word": word, "at": f"2024-01-01T00:{minute:02}:00Z", "n": n} for i, word, minute, n in rows)
        write(self.folder / "in" / f"{self.files}.json", *named)


@pytest.fixture(params=FORMATS)
def world(request: pytest.FixtureRequest, tmp_path: Path, lake: Lake) -> World:
    return World(request.param, tmp_path, lake)


def declared(world: World) -> StreamExecutionEnvironment:
    """Copy rows into one table, merge totals by word into another, append complete windows to a third."""
    env = StreamExecutionEnvironment("into_tables", config={"execution.runtime-mode": "AUTOMATIC"})
    rows = env.from_source(Json(f"{world.folder}/in", schema=COLUMNS), "rows", unbounded=True).uid("rows")
    rows.select("id", "word", "n").sink_to(world.table("copied"), mode="append").name("copied").uid("copied")
    totals = rows.key_by("word").aggregate(total="sum(n)").uid("by_word")
    totals.sink_to(world.table("totals"), mode="merge", keys="word").name("totals").uid("totals")
    return env


def windows(world: World) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("windows", config={"execution.runtime-mode": "AUTOMATIC"})
    rows = env.from_source(Json(f"{world.folder}/in", schema=COLUMNS), "rows", unbounded=True).uid("rows")
    marked = rows.assign_timestamps_and_watermarks("at", max_out_of_orderness="5 minutes")
    counted = marked.key_by("word").window(TumblingEventTimeWindows("at", "10 minutes")).aggregate(total="sum(n)")
    counted = counted.uid("windows").select("word", minute="minute(window_start)", total="total")
    counted.sink_to(world.table("windows"), mode="append").name("windows").uid("windows of words")
    return env


def is_there_once(world: World, *rows: tuple[int, str, int, int]) -> bool:
    assert world.rows("copied") == sorted(((i, word, n) for i, word, _, n in rows), key=repr)
    totals: Counter[str] = Counter()
    for _, word, _, n in rows:
        totals[word] += n
    assert dict(world.rows("totals")) == totals
    return True


def test_each_batch_is_one_commit_of_each_table(world: World, spark: SparkSession) -> None:
    runs = Runs(declared(world), world.folder, spark)
    world.arrive(FIRST)
    assert runs.run("one") == []
    assert is_there_once(world, *FIRST)
    before = world.commits("copied"), world.commits("totals")
    world.arrive(SECOND)
    assert runs.run("two") == []
    assert is_there_once(world, *FIRST, *SECOND)
    assert (world.commits("copied"), world.commits("totals")) == (before[0] + 1, before[1] + 1)
    assert runs.run("three") == []
    assert (world.commits("copied"), world.commits("totals")) == (before[0] + 1, before[1] + 1)


@pytest.mark.parametrize(
    ("place", "after"),
    [
        ((SinkCommitter, "prepare"), True),
        ((Ledger, "decide"), False),
        ((Ledger, "decide"), True),
        ((Ledger, "finish"), False),
        ((SinkCommitter, "commit"), True),
        ((stream_query, "run_region"), True),
    ],
    ids=str,
)
def test_a_driver_that_dies_in_a_batch_commits_it_once(
    world: World, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, place: tuple[Any, str], after: bool
) -> None:
    runs = Runs(declared(world), world.folder, spark)
    world.arrive(FIRST)
    assert runs.run("one") == []
    world.arrive(SECOND)
    with monkeypatch.context() as patch:
        die(patch, *place, after=after)
        assert runs.run("two") != []
    assert runs.run("two") == []
    assert is_there_once(world, *FIRST, *SECOND)
    assert runs.run("three") == []
    assert is_there_once(world, *FIRST, *SECOND)


def test_a_batch_is_committed_beside_the_commits_of_others(world: World, spark: SparkSession) -> None:
    runs = Runs(declared(world), world.folder, spark)
    world.arrive(FIRST)
    assert runs.run("one") == []
    name = f"{world.lake.name}.db.copied" if world.format == "iceberg" else f"delta.`{world.folder}/copied`"
    spark.sql(f"INSERT INTO {name} VALUES (99, 'theirs', 9)")
    world.arrive(SECOND)
    assert runs.run("two") == []
    mine = [(id, word, n) for id, word, _, n in (*FIRST, *SECOND)]
    assert world.rows("copied") == sorted([*mine, (99, "theirs", 9)], key=repr)


def test_windows_are_committed_when_they_are_complete(world: World, spark: SparkSession) -> None:
    runs = Runs(windows(world), world.folder, spark)
    world.arrive(FIRST)
    world.arrive(SECOND)
    assert runs.run("one") == []
    world.arrive([(8, "z", 59, 1)])
    assert runs.run("two") == []
    wanted = [("be", 0, 10), ("not", 10, 6), ("or", 10, 4), ("to", 0, 1), ("to", 30, 7)]
    assert world.rows("windows") == wanted
