"""Tables of Iceberg and Delta as streams: the rows of each commit once, whatever others do to the table."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from graph_compiler import Delta, Iceberg, Parquet, StreamExecutionEnvironment, Values
from graph_compiler.spark_runtime.region.coordination import SinkCommitter
from graph_compiler.spark_runtime.streams import stream_query
from graph_compiler.staging.publications.ledger import Ledger
from tests.harness.position_runs import Runs
from tests.lake.conftest import Lake
from tests.lake.dying import die

pytestmark = pytest.mark.lake
COLUMNS = "id INT, word STRING"
Rows = list[tuple[int, str]]
FIRST: Rows = [(1, "to"), (2, "be"), (3, "be")]
SECOND: Rows = [(4, "or"), (5, "not")]


@dataclass
class World:
    """A table that others write, and the folder into which a stream of it is published."""

    format: str
    folder: Path
    lake: Lake

    def __post_init__(self) -> None:
        self.create()

    @property
    def spark(self) -> SparkSession:
        return self.lake.spark

    @property
    def name(self) -> str:
        """Its name in SQL."""
        return f"{self.lake.name}.db.read" if self.format == "iceberg" else f"delta.`{self.folder}/read`"

    def create(self) -> None:
        if self.format == "iceberg":
            self.lake.use()
        self.spark.sql(f"CREATE TABLE {self.name} ({COLUMNS}) USING {self.format}")

    def table(self, **settings: Any) -> Iceberg | Delta:
        if self.format == "iceberg":
            return self.lake.table("read", **settings)
        return Delta(f"{self.folder}/read", **settings)

    def drop(self) -> None:
        self.spark.sql(f"DROP TABLE {self.name}")
        shutil.rmtree(self.folder / "read", ignore_errors=True)  # that of Delta's path stays

    def insert(self, rows: Rows) -> None:
        self.spark.sql(f"INSERT INTO {self.name} VALUES {', '.join(map(str, rows))}")

    def compact(self) -> None:
        """Write the files again, and remove the earlier ones."""
        if self.format == "iceberg":
            self.lake.compact("read")
        else:
            self.spark.sql(f"OPTIMIZE {self.name}")

    def published(self) -> Rows:
        return sorted((row.id, row.word) for row in self.spark.read.parquet(f"{self.folder}/out").collect())

    def runs(self) -> Runs:
        env = StreamExecutionEnvironment("of_a_table", config={"execution.runtime-mode": "AUTOMATIC"})
        rows = env.from_source(self.table(), "rows", unbounded=True).uid("rows")
        rows.filter("id > 0").sink_to(Parquet(f"{self.folder}/out"), mode="append").name("out").uid("out")
        return Runs(env, self.folder, self.spark)


@pytest.fixture(params=["iceberg", "delta"])
def world(request: pytest.FixtureRequest, tmp_path: Path, lake: Lake) -> World:
    return World(request.param, tmp_path, lake)


def test_rows_that_are_there_and_those_that_are_added_are_published_once(world: World) -> None:
    runs = world.runs()
    assert runs.run("of an empty table") == []
    world.insert(FIRST)
    world.insert(SECOND)
    assert runs.run("one") == []
    assert world.published() == FIRST + SECOND
    world.insert([(6, "quick")])
    assert runs.run("two") == []
    assert world.published() == [*FIRST, *SECOND, (6, "quick")]
    assert runs.run("three") == []
    assert runs.report().batches == ()


@pytest.mark.parametrize(
    ("place", "after"),
    [
        ((SinkCommitter, "prepare"), True),
        ((Ledger, "decide"), True),
        ((SinkCommitter, "commit"), True),
        ((stream_query, "run_region"), True),
    ],
    ids=str,
)
def test_a_driver_that_dies_in_a_batch_publishes_it_once(
    world: World, monkeypatch: pytest.MonkeyPatch, place: tuple[Any, str], after: bool
) -> None:
    world.insert(FIRST)
    runs = world.runs()
    assert runs.run("one") == []
    world.insert(SECOND)
    with monkeypatch.context() as patch:
        die(patch, *place, after=after)
        assert runs.run("two") != []
    world.insert([(6, "quick")])
    world.compact()
    assert runs.run("two") == []
    assert world.published() == [*FIRST, *SECOND, (6, "quick")]


def test_rows_that_are_only_moved_to_other_files_are_not_new(world: World) -> None:
    world.insert(FIRST)
    world.insert(SECOND)
    runs = world.runs()
    assert runs.run("one") == []
    world.compact()
    assert runs.run("two") == []
    assert world.published() == FIRST + SECOND
    world.insert([(6, "quick")])
    assert runs.run("three") == []
    assert world.published() == [*FIRST, *SECOND, (6, "quick")]


def test_rows_that_a_pipeline_appends_are_read(world: World) -> None:
    for number, rows in enumerate((FIRST, SECOND)):
        env = StreamExecutionEnvironment("writer")
        written = env.from_source(Values(rows, COLUMNS), "rows")
        written.sink_to(world.table(), mode="append").name("read").uid("read")
        assert Runs(env, world.folder, world.spark, tries=100 * (number + 1)).run(f"write {number}") == []
        assert world.runs().run(f"run {number}") == []
    assert world.published() == FIRST + SECOND


@pytest.mark.parametrize("change", ["DELETE FROM {} WHERE id = 2", "UPDATE {} SET word = 'x' WHERE id = 2"])
def test_rows_that_are_removed_or_changed_fail_the_run(world: World, change: str) -> None:
    world.insert(FIRST)
    runs = world.runs()
    assert runs.run("one") == []
    if world.format == "iceberg" and change.startswith("UPDATE"):
        change = "INSERT OVERWRITE {} SELECT id, 'x' FROM {} WHERE id = 2"  # its extensions are not there
    world.spark.sql(change.format(world.name, world.name))
    world.insert(SECOND)
    (message,) = runs.run("two")
    assert "has changed or removed rows, and a stream has only rows that are added" in message
    assert world.published() == FIRST


def test_another_table_of_the_same_name_is_refused(world: World) -> None:
    world.insert(FIRST)
    runs = world.runs()
    assert runs.run("one") == []
    world.drop()
    world.create()
    world.insert(SECOND)
    (message,) = runs.run("two")
    assert "its table is" in message
    assert "graph-compiler streams reset" in message
    assert world.published() == FIRST


def test_a_table_that_is_not_there_is_said(world: World) -> None:
    world.drop()
    (message,) = world.runs().run("one")
    assert "does not exist" in message


def test_expired_snapshots_of_iceberg_are_not_left_out(tmp_path: Path, lake: Lake) -> None:
    world = World("iceberg", tmp_path, lake)
    world.insert(FIRST)
    runs = world.runs()
    assert runs.run("one") == []
    world.insert(SECOND)
    assert runs.run("two") == []
    lake.expire("read")
    world.insert([(6, "quick")])
    assert runs.run("three") == []
    assert world.published() == [*FIRST, *SECOND, (6, "quick")]
    world.insert([(7, "so")])
    world.insert([(8, "slow")])
    lake.expire("read")
    (message,) = runs.run("four")
    assert "snapshots have expired that no run has read" in message
    new = StreamExecutionEnvironment("another", config={"execution.runtime-mode": "AUTOMATIC"})
    rows = new.from_source(world.table(), "rows", unbounded=True).uid("rows")
    rows.sink_to(Parquet(f"{tmp_path}/another"), mode="append").name("out").uid("out")
    (message,) = Runs(new, tmp_path, world.spark, tries=100).run("one")
    assert "has no snapshots from before" in message
    assert "only_new=True" in message


def test_iceberg_itself_leaves_out_rows_of_expired_snapshots(tmp_path: Path, lake: Lake) -> None:
    """If this fails, a new version of Iceberg has them, and `check_start` need not refuse such tables."""
    world = World("iceberg", tmp_path, lake)
    world.insert(FIRST)
    world.insert(SECOND)
    lake.expire("read")
    assert lake.rows("read") == FIRST + SECOND
    rows = world.spark.readStream.format("iceberg").load(f"{lake.name}.db.read")
    query = rows.writeStream.format("memory").queryName("left_out").trigger(availableNow=True)
    query.option("checkpointLocation", f"{tmp_path}/checkpoint").start().awaitTermination()
    assert sorted(map(tuple, world.spark.table("left_out").collect())) == SECOND
