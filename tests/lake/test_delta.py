"""What each mode does to a Delta table, and drivers that die, sleep and lose answers while they commit."""

import itertools
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from graph_compiler import Delta, Json, Merge, Parquet, Range, StreamExecutionEnvironment
from graph_compiler.deployment.documents.report import PublishedCommit
from graph_compiler.errors import DecisionLostError, PublicationConflictError, PublicationError, SchemaChangedError
from graph_compiler.spark_runtime.connectors import read_source
from graph_compiler.spark_runtime.connectors.lake import delta
from graph_compiler.spark_runtime.connectors.lake.formats import TableFormatError
from graph_compiler.spark_runtime.region.coordination import SinkCommitter
from graph_compiler.spark_runtime.spark_internals.delta_tables import DeltaTable
from graph_compiler.spark_runtime.spark_internals.file_listings import few_listing_tasks
from graph_compiler.staging.publications.ledger import Ledger
from tests.harness.position_runs import Runs, write
from tests.harness.sinks import Sinks
from tests.lake.conftest import sold
from tests.lake.dying import die, dying, sleeping
from tests.spark.conftest import RunPipeline

pytestmark = pytest.mark.lake
COLUMNS = "id INT, day STRING, amount INT"
OLD = ((1, "mon", 10), (2, "tue", 20))
MODES = ("append", "overwrite-partitions", "overwrite", "merge", "error-if-exists")
MINE, THEIRS = (3, "mon", 30), (9, "wed", 90)


@dataclass
class Shop:
    """A table on this disk."""

    spark: SparkSession
    path: str

    def table(self, **settings: Any) -> Delta:
        return Delta(self.path, **settings)

    def create(self, columns: str = COLUMNS, more: str = "PARTITIONED BY (day)") -> None:
        self.spark.sql(f"CREATE TABLE delta.`{self.path}` ({columns}) USING delta {more}")

    def insert(self, *rows: tuple[int, str, int]) -> None:
        """Insert rows as somebody else does."""
        self.spark.sql(f"INSERT INTO delta.`{self.path}` {sold(*rows)}")

    def version(self) -> int:
        return DeltaTable.load(self.spark, self.path).version

    def rows(self) -> list[tuple[object, ...]]:
        found = self.spark.read.format("delta").load(self.path).collect()
        return sorted((tuple(row) for row in found), key=repr)


@pytest.fixture
def shop(spark: SparkSession, tmp_path: Path) -> Shop:
    return Shop(spark, str(tmp_path / "sold"))


@pytest.fixture
def filled(shop: Shop) -> Shop:
    shop.create()
    shop.insert(*OLD)
    return shop


def settings(mode: str) -> dict[str, Any]:
    return {"mode": mode, "keys": ("id",)} if mode == "merge" else {"mode": mode}


@pytest.mark.parametrize(
    ("mode", "rows", "after", "removed"),
    [
        ("append", [MINE], [*OLD, MINE], 0),
        ("overwrite", [MINE], [MINE], 2),
        ("overwrite-partitions", [MINE], [(2, "tue", 20), MINE], 1),
        ("merge", [(2, "tue", 21), MINE], [(1, "mon", 10), (2, "tue", 21), MINE], 1),
        ("merge", [(2, "mon", 21)], [(1, "mon", 10), (2, "mon", 21)], 1),
    ],
)
def test_each_mode_of_delta(
    filled: Shop,
    sinks: Sinks,
    mode: str,
    rows: list[tuple[int, str, int]],
    after: list[tuple[int, str, int]],
    removed: int,
) -> None:
    prepared = sinks.prepare(filled.table(), filled.spark.sql(sold(*rows)), **settings(mode))
    assert filled.rows() == sorted(OLD)
    commit = prepared.publish()
    assert filled.rows() == sorted(after)
    assert commit == PublishedCommit(kind="version", id=str(filled.version()), removed_rows=removed)
    assert prepared.rows == len(rows)


def test_an_overwrite_replaces_the_whole_table_whatever_the_session_replaces(filled: Shop, sinks: Sinks) -> None:
    filled.spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        sinks.write(filled.table(), sold(MINE), mode="overwrite")
    finally:
        filled.spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    assert filled.rows() == [MINE]


@pytest.fixture
def schema(spark: SparkSession, tmp_path: Path) -> Iterator[str]:
    """Create a schema of Spark's catalog, for one test."""
    spark.sql(f"CREATE SCHEMA shop LOCATION '{tmp_path / 'the warehouse'}'")
    yield "shop"
    spark.sql("DROP SCHEMA shop CASCADE")


def test_a_table_by_its_name_is_the_one_by_its_path(spark: SparkSession, schema: str, sinks: Sinks) -> None:
    spark.sql(f"CREATE TABLE {schema}.sold ({COLUMNS}) USING delta PARTITIONED BY (day)")
    ((folder,),) = spark.sql(f"DESCRIBE DETAIL {schema}.sold").select("location").collect()
    sinks.write(Delta("shop.sold"), sold(*OLD), mode="append")
    sinks.write(Delta(folder), sold(*OLD), mode="append")
    found = read_source(Delta("spark_catalog.shop.sold"), spark)
    assert sorted(map(tuple, found.collect())) == sorted(OLD), "once: the same run, the same table, by either"
    assert DeltaTable.load(spark, folder.removeprefix("file:")).version == 1


def test_two_sinks_that_name_one_table_differently_are_refused_before_any_row_moves(
    spark: SparkSession, schema: str, run_pipeline: RunPipeline
) -> None:
    spark.sql(f"CREATE TABLE {schema}.sold (id BIGINT) USING delta")
    ((folder,),) = spark.sql(f"DESCRIBE DETAIL {schema}.sold").select("location").collect()
    env = StreamExecutionEnvironment("p")
    numbers = env.from_source(Range(0, 3), "numbers")
    numbers.sink_to(Delta("shop.sold"), mode="append").name("one")
    numbers.sink_to(Delta(folder), mode="append").name("two")
    failure = run_pipeline(env.pipeline())[-1].failure
    assert failure is not None
    assert "is also written by '" in failure.message
    assert DeltaTable.load(spark, folder.removeprefix("file:")).version == 0


def test_a_reset_is_offered_with_a_warning_if_a_table_has_the_rows(
    shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = StreamExecutionEnvironment("shop")
    source = Json(f"{tmp_path}/in", schema="id INT, day STRING, amount INT")
    rows = env.from_source(source, "orders", only_new=True).uid("orders")
    rows.sink_to(shop.table(), mode="append").name("sold").uid("sold")
    rows.sink_to(Parquet(f"{tmp_path}/other"), mode="append").name("other").uid("other")
    runs = Runs(env, tmp_path, shop.spark)
    write(tmp_path / "in" / "a.json", {"id": 3, "day": "mon", "amount": 30})
    real = SinkCommitter.commit

    def commit(self: SinkCommitter) -> Any:
        if self._operator.name == "other":
            raise RuntimeError("crash")
        return real(self)

    with monkeypatch.context() as patch:
        patch.setattr(SinkCommitter, "commit", commit)
        assert "crash" in runs.run("r1")[0]
    assert shop.rows() == [MINE]
    (message,) = runs.run("r2")
    assert "published by sold, not by other" in message
    assert message.endswith("the next run reads it again; then sold may have its rows twice")
    assert runs.run("r1") == []
    assert runs.run("r2") == []
    assert shop.rows() == [MINE]


def test_names_that_are_no_tables_of_delta(spark: SparkSession, schema: str, sinks: Sinks) -> None:
    spark.sql(f"CREATE TABLE {schema}.plain (id INT) USING parquet")
    with pytest.raises(TableFormatError, match=r"shop\.plain is a table of format parquet"):
        read_source(Delta("shop.plain"), spark)
    with pytest.raises(TableFormatError, match=r"Spark's catalog has no table shop\.sold: .*TABLE_OR_VIEW_NOT_FOUND"):
        sinks.write(Delta("shop.sold"), sold(*OLD), mode="append")


@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.parametrize("mode", ["append", "merge"])
def test_a_value_that_partitions_of_delta_cannot_hold_is_refused(
    shop: Shop, sinks: Sinks, mode: str, is_there: bool
) -> None:
    if is_there:
        shop.create(more="PARTITIONED BY (Day)")
    table = shop.table() if is_there else shop.table(partitioned_by=("day",))
    values = "(1, '', 1), (2, '__HIVE_DEFAULT_PARTITION__', 1), (3, CAST(X'FF' AS STRING), 1), (4, 'mon', 1)"
    how: dict[str, Any] = {"mode": mode, "keys": ("id", "day")} if mode == "merge" else {"mode": mode}
    with pytest.raises(PublicationError) as refusal:
        sinks.write(table, f"SELECT * FROM VALUES {values} AS t(id, day, amount)", **how)
    assert str(refusal.value).splitlines()[:4] == [
        "partitions of a table of Delta Lake cannot hold what it would write",
        "  column 'day': 1 row with '', read back as NULL",
        "  column 'day': 1 row with '__HIVE_DEFAULT_PARTITION__', read back as NULL",
        "  column 'day': 1 row with bytes that are not UTF-8, read back as another text",
    ]
    assert DeltaTable.load(shop.spark, shop.path).version == (0 if is_there else -1)


def test_a_removal_may_have_whatever_partition(filled: Shop, sinks: Sinks) -> None:
    rows = "SELECT * FROM VALUES (1, '', 0, true), (3, 'mon', 30, false) AS t(id, day, amount, gone)"
    sinks.write(filled.table(), rows, mode="merge", keys=("id",), merge=Merge(apply_as_deletes="gone"))
    assert filled.rows() == [(2, "tue", 20), MINE]


@pytest.mark.parametrize("mode", MODES)
def test_a_missing_table_is_created(shop: Shop, sinks: Sinks, mode: str) -> None:
    table = shop.table(partitioned_by=("day",))
    sinks.write(table, sold(MINE), **settings(mode))
    assert shop.rows() == [MINE]
    with pytest.raises(PublicationError, match="is partitioned by day"):
        sinks.open(shop.table(partitioned_by=("id",)), **settings(mode))


def test_a_merge_goes_on_in_a_session_of_its_own(filled: Shop, sinks: Sinks) -> None:
    """What names a commit in the session would leave out all later ones."""
    for number in (1, 2):
        sinks.write(filled.table(), sold((3, "mon", number)), mode="merge", keys=("id",), run=f"r{number}")
        filled.insert((10 + number, "thu", 1))
    assert set(filled.rows()) == {*OLD, (3, "mon", 2), (11, "thu", 1), (12, "thu", 1)}


def test_error_if_exists_of_delta(shop: Shop, sinks: Sinks) -> None:
    shop.create()
    sinks.write(shop.table(), sold((1, "mon", 1)), mode="error-if-exists")
    sinks.write(shop.table(), sold((1, "mon", 2)), mode="error-if-exists")
    assert shop.rows() == [(1, "mon", 2)]
    with pytest.raises(PublicationError, match="exists"):
        sinks.write(shop.table(), sold((1, "mon", 3)), mode="error-if-exists", run="r2")
    prepared = None
    shop.insert((2, "tue", 2))
    with pytest.raises(PublicationError, match="others have written"):
        prepared = sinks.prepare(shop.table(), shop.spark.sql(sold((1, "mon", 3))), mode="error-if-exists")
    assert prepared is None
    assert shop.rows() == [(1, "mon", 2), (2, "tue", 2)]


def test_a_run_appends_once_to_delta(filled: Shop, sinks: Sinks) -> None:
    for _ in range(2):
        sinks.write(filled.table(), sold(MINE), mode="append")
    sinks.write(filled.table(), sold(MINE), mode="append", run="r2")
    assert filled.rows() == sorted([*OLD, MINE, MINE])


@pytest.mark.parametrize("marks_removed_rows", [True, False])
def test_other_rows_of_the_same_run_take_the_place_of_those_it_has_appended_to_delta(
    shop: Shop, sinks: Sinks, marks_removed_rows: bool
) -> None:
    vectors = f"'delta.enableDeletionVectors' = '{str(marks_removed_rows).lower()}'"
    shop.create(more=f"PARTITIONED BY (day) TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true', {vectors})")
    shop.insert(*OLD)
    sinks.write(shop.table(), sold((3, "mon", 30), (4, "tue", 40)), mode="append")
    sinks.write(shop.table(), sold((5, "mon", 50)), mode="append", run="r2")
    shop.spark.sql(f"DELETE FROM delta.`{shop.path}` WHERE id = 1")
    for rows in ([(3, "mon", 31)], [(3, "mon", 32), (6, "wed", 60)], []):
        query = sold(*rows) if rows else f"{sold((1, 'mon', 1))} WHERE false"
        version = shop.version()
        sinks.write(shop.table(), query, mode="append")
        assert shop.rows() == sorted([OLD[1], (5, "mon", 50), *rows])
        assert shop.version() == version + 1, "one commit, so that no reader sees half"
    sinks.write(shop.table(), sold(MINE), mode="append")
    assert shop.rows() == sorted([OLD[1], (5, "mon", 50), MINE])


def test_new_columns_of_the_same_run_are_added_to_delta(filled: Shop, sinks: Sinks) -> None:
    sinks.write(filled.table(), sold(MINE), mode="append")
    more = f"SELECT *, 'x' AS note FROM ({sold(MINE)})"
    sinks.write(filled.table(on_schema_change="evolve"), more, mode="append")
    assert filled.rows() == sorted([*((*row, None) for row in OLD), (*MINE, "x")])


def test_equal_rows_of_the_same_run_commit_nothing_to_delta(filled: Shop, sinks: Sinks) -> None:
    rows = "SELECT id, day, IF(id = 3, NULL, amount) AS amount FROM VALUES {} AS t(id, day, amount)"
    sinks.write(filled.table(), rows.format("(3, 'mon', 30), (4, 'tue', 40)"), mode="append")
    version = filled.version()
    again = filled.spark.sql(rows.format("(4, 'tue', 40), (3, 'mon', 99)"))
    commit = sinks.prepare(filled.table(), again, mode="append").publish()
    assert commit == PublishedCommit(kind="version", id=str(version), removed_rows=0), "the one that has the rows"
    filled.spark.sql(f"OPTIMIZE delta.`{filled.path}`")
    sinks.write(filled.table(), rows.format("(4, 'tue', 40), (3, 'mon', 99)"), mode="append")
    assert filled.version() == version + 1, "the one that optimizes"


def test_rows_of_delta_that_others_have_moved_are_not_replaced(filled: Shop, sinks: Sinks) -> None:
    sinks.write(filled.table(), sold(MINE), mode="append")
    filled.spark.sql(f"OPTIMIZE delta.`{filled.path}`")
    filled.spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    with few_listing_tasks(filled.spark):
        filled.spark.sql(f"VACUUM delta.`{filled.path}` RETAIN 0 HOURS")
    for rows in (sold(MINE), sold((3, "mon", 31))):  # without the files, it is not known whether rows are equal
        with pytest.raises(PublicationError, match="others have changed them, or moved them"):
            sinks.write(filled.table(), rows, mode="append")
    assert filled.rows() == sorted([*OLD, MINE])


def test_rows_of_delta_that_others_have_updated_beside_their_file_are_not_replaced(
    shop: Shop, sinks: Sinks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their file stays, with a vector that marks them as removed; the updated ones are in a file of others."""
    shop.create(more="TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    update = f"UPDATE delta.`{shop.path}` SET amount = 7 WHERE id = 4"
    mine, other = (f"{sold(MINE, (4, 'mon', amount))} DISTRIBUTE BY day" for amount in (40, 41))  # one file
    sinks.write(shop.table(), mine, mode="append")
    version = shop.version()
    sleeping(monkeypatch, delta, "_replace", lambda: shop.spark.sql(update))
    with pytest.raises(PublicationConflictError, match="others have moved"):
        sinks.write(shop.table(), other, mode="append")
    assert DeltaTable.load(shop.spark, shop.path).has_all_of(version)
    for again in (mine, other):
        with pytest.raises(PublicationError, match="others have changed them, or moved them"):
            sinks.write(shop.table(), again, mode="append")
    assert shop.rows() == [MINE, (4, "mon", 7)]


def test_rows_of_delta_that_others_have_replaced_in_part_are_not_replaced(filled: Shop, sinks: Sinks) -> None:
    """The rest of them is in another file."""
    rows = f"{sold(MINE, (4, 'mon', 40))} DISTRIBUTE BY day"
    sinks.write(filled.table(), rows, mode="append")
    writer = filled.spark.sql(sold(THEIRS)).write.format("delta").mode("overwrite")
    writer.option("replaceWhere", "amount >= 40").save(filled.path)
    with pytest.raises(PublicationError, match="others have changed them, or moved them"):
        sinks.write(filled.table(), rows, mode="append")
    assert filled.rows() == sorted([*OLD, MINE, THEIRS])


@pytest.mark.parametrize("change", ["overwrite", "overwrite-partitions", "DELETE FROM {} WHERE day = 'tue'"])
def test_rows_that_others_have_replaced_are_appended_to_delta_again(filled: Shop, sinks: Sinks, change: str) -> None:
    rows = [(3, "tue", 30)]
    sinks.write(filled.table(), sold(*rows), mode="append")
    if change.startswith("overwrite"):
        sinks.write(filled.table(), sold((9, "tue", 90)), mode=change, run="r2")
    else:
        filled.spark.sql(change.format(f"delta.`{filled.path}`"))
    left = filled.rows()
    sinks.write(filled.table(), sold(*rows), mode="append")
    assert filled.rows() == sorted([*left, *rows])


def test_what_a_run_has_merged_is_not_replaced_by_what_it_appends_to_delta(filled: Shop, sinks: Sinks) -> None:
    """Its file has a row of others, too: as many rows as the merge was given."""
    sinks.write(filled.table(), sold((7, "tue", 70)), mode="append", run="r2")
    filled.spark.sql(f"OPTIMIZE delta.`{filled.path}`")
    sinks.write(filled.table(), sold((2, "tue", 21), (3, "mon", 30)), mode="merge", keys=("id",))
    seen = filled.rows()
    with pytest.raises(PublicationError, match="has merged them with rows of others"):
        sinks.write(filled.table(), sold((3, "mon", 31)), mode="append")
    assert filled.rows() == seen


def test_others_may_change_delta_while_rows_are_replaced(
    filled: Shop, sinks: Sinks, monkeypatch: pytest.MonkeyPatch
) -> None:
    sinks.write(filled.table(), sold(MINE), mode="append")
    sleeping(monkeypatch, delta, "_replace", lambda: filled.insert(THEIRS))
    sinks.write(filled.table(), sold((3, "mon", 31)), mode="append")
    assert filled.rows() == sorted([*OLD, (3, "mon", 31), THEIRS])
    delete, optimize = f"DELETE FROM delta.`{filled.path}` WHERE id = 3", f"OPTIMIZE delta.`{filled.path}`"
    sleeping(monkeypatch, delta, "_replace", lambda: filled.spark.sql(delete))
    sinks.write(filled.table(), sold((3, "mon", 32)), mode="append")
    assert filled.rows() == sorted([*OLD, (3, "mon", 32), THEIRS])
    sleeping(monkeypatch, delta, "_replace", lambda: filled.spark.sql(optimize))
    with pytest.raises(PublicationConflictError, match="others have moved"):
        sinks.write(filled.table(), sold((3, "mon", 33)), mode="append")
    assert filled.rows() == sorted([*OLD, (3, "mon", 32), THEIRS])


@pytest.mark.parametrize("mode", ["append", "overwrite", "overwrite-partitions"])
def test_no_rows_for_delta(filled: Shop, sinks: Sinks, mode: str) -> None:
    sinks.write(filled.table(), f"{sold(MINE)} WHERE false", mode=mode)
    assert filled.rows() == ([] if mode == "overwrite" else sorted(OLD))


def test_columns_are_compared_with_those_of_delta(filled: Shop, sinks: Sinks) -> None:
    more = "SELECT 3 AS id, 'mon' AS day, 30 AS amount, struct('x' AS note) AS more"
    with pytest.raises(SchemaChangedError, match="column 'more' was added"):
        sinks.write(filled.table(), more, mode="append")
    sinks.write(filled.table(on_schema_change="evolve"), more, mode="append")
    assert (3, "mon", 30, ("x",)) in filled.rows()
    merged = "SELECT 3 AS id, 'mon' AS day, 31 AS amount, struct('y' AS note) AS more, 1 AS last"
    sinks.write(filled.table(on_schema_change="evolve"), merged, mode="merge", keys=("id",), run="r2")
    assert (3, "mon", 31, ("y",), 1) in filled.rows()


def test_what_violates_a_constraint_fails_before_anything_is_published(filled: Shop, sinks: Sinks) -> None:
    filled.spark.sql(f"ALTER TABLE delta.`{filled.path}` ADD CONSTRAINT positive CHECK (amount > 0)")
    with pytest.raises(Exception, match="violates the constraint positive"):
        sinks.prepare(filled.table(), filled.spark.sql(sold((3, "mon", -1))), mode="append")
    null = "SELECT 3 AS id, 'mon' AS day, CAST(NULL AS INT) AS amount"
    with pytest.raises(Exception, match="violates the constraint positive"):
        sinks.prepare(filled.table(), filled.spark.sql(null), mode="append")
    sinks.write(filled.table(), sold(MINE), mode="append")
    assert filled.rows() == sorted([*OLD, MINE])


REFUSED_COLUMNS = {
    "a name": "SELECT 1 AS `a b`",
    "a name within it": "SELECT 1 AS id, named_struct('a;b', 1) AS s",
    "an interval": "SELECT INTERVAL '1' DAY AS span",
    "a list of nothing": "SELECT array() AS items",
}


@pytest.mark.parametrize("case", REFUSED_COLUMNS)
@pytest.mark.parametrize("is_new", [True, False])
def test_columns_that_delta_refuses_fail_before_anything_is_published(
    case: str, is_new: bool, shop: Shop, sinks: Sinks, tmp_path: Path
) -> None:
    """For a new table, and for a column that is added."""
    rows = shop.spark.sql(REFUSED_COLUMNS[case])
    if not is_new:
        shop.create("id INT", "")
        rows = rows if "id" in rows.columns else rows.selectExpr("1 AS id", "*")
    table = shop.table(on_schema_change="evolve")
    with pytest.raises(PublicationError, match="does not take the rows"):
        sinks.prepare(table, rows, mode="append")
    assert not list(tmp_path.rglob("*-columns"))


def test_names_that_a_table_maps_are_kept(shop: Shop, sinks: Sinks) -> None:
    shop.create("`a b` INT", "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    sinks.write(shop.table(), "SELECT 1 AS `a b`", mode="append")
    evolving = shop.table(on_schema_change="evolve")
    sinks.write(evolving, "SELECT 1 AS `a b`, 2 AS `c;d`", mode="append", run="r2")
    assert shop.rows() == [(1, 2), (1, None)]


@pytest.mark.parametrize("mode", ["overwrite", "overwrite-partitions"])
def test_rows_that_may_not_be_replaced_stop_the_sink_before_it_begins(mode: str, shop: Shop, sinks: Sinks) -> None:
    shop.create(more="PARTITIONED BY (day) TBLPROPERTIES ('delta.appendOnly' = 'true')")
    sinks.write(shop.table(), sold(MINE), mode="append")
    with pytest.raises(PublicationError, match="has delta.appendOnly: its rows cannot be replaced"):
        sinks.prepare(shop.table(), shop.spark.sql(sold(THEIRS)), mode=mode, run="r2")
    sinks.write(shop.table(), sold(THEIRS), mode="append", run="r3")
    assert shop.rows() == [MINE, THEIRS]


@pytest.mark.parametrize(
    ("columns", "value", "words"),
    [
        ("v VARCHAR(3)", "'abc '", r"VARCHAR\(3\) of column 'v'"),
        ("v CHAR(3)", "'abcd'", r"CHAR\(3\) of column 'v'"),
        ("v STRUCT<a: INT NOT NULL>", "named_struct('a', CAST(NULL AS INT))", "NOT NULL of column 'v.a'"),
        ("v STRUCT<a: INT NOT NULL>", "CAST(NULL AS STRUCT<a: INT>)", "NOT NULL of column 'v.a'"),
    ],
)
def test_what_a_column_does_not_hold_fails_before_anything_is_published(
    columns: str, value: str, words: str, shop: Shop, sinks: Sinks
) -> None:
    shop.create(columns, "")
    with pytest.raises(Exception, match=f"violates .*{words}"):
        sinks.prepare(shop.table(), shop.spark.sql(f"SELECT {value} AS v"), mode="append")
    held = "'abc'" if "CHAR" in columns else "named_struct('a', 2)"
    sinks.write(shop.table(), f"SELECT {held} AS v", mode="append")
    assert len(shop.rows()) == 1


def test_null_where_delta_has_none_fails_before_anything_is_published(shop: Shop, sinks: Sinks) -> None:
    shop.create("id INT NOT NULL, day STRING, amount INT")
    rows = "SELECT IF(v = 2, NULL, v) AS id, 'mon' AS day, 1 AS amount FROM VALUES (1), (2) AS t(v)"
    with pytest.raises(Exception, match="violates NOT NULL of column 'id'"):
        sinks.prepare(shop.table(), shop.spark.sql(rows), mode="append")


def test_one_path_written_in_two_ways_is_one_table(filled: Shop, sinks: Sinks) -> None:
    for path in (filled.path, f"file://{filled.path}/", f"file:{filled.path}"):
        sinks.write(Delta(path), sold(MINE), mode="append")
    assert filled.rows() == sorted([*OLD, MINE])


def test_a_constraint_that_comes_later_gives_the_decision_up(filled: Shop, sinks: Sinks) -> None:
    prepared = sinks.prepare(filled.table(), filled.spark.sql(sold((3, "mon", 500))), mode="append")
    filled.spark.sql(f"ALTER TABLE delta.`{filled.path}` ADD CONSTRAINT small CHECK (amount < 100)")
    with pytest.raises(PublicationError, match="does not take the rows"):
        prepared.publish()
    sinks.write(filled.table(), sold(MINE), mode="append", run="r2")
    assert filled.rows() == sorted([*OLD, MINE])


@pytest.mark.parametrize(
    "column", ["twice INT GENERATED ALWAYS AS (id * 2)", "key BIGINT GENERATED ALWAYS AS IDENTITY"]
)
def test_columns_that_delta_computes_are_refused(shop: Shop, sinks: Sinks, column: str) -> None:
    shop.create(f"id INT, {column}", more="")
    with pytest.raises(PublicationError, match="computes (twice|key) itself"):
        sinks.open(shop.table(), mode="append")


def test_keys_that_are_there_twice_are_refused_for_delta(filled: Shop, sinks: Sinks) -> None:
    with pytest.raises(PublicationError, match="id=3"):
        sinks.write(filled.table(), sold((3, "mon", 1), (3, "mon", 2)), mode="merge", keys=("id",))
    assert filled.rows() == sorted(OLD)


@pytest.mark.parametrize("mode", ["append", "overwrite-partitions", "merge"])
def test_others_may_commit_to_delta_meanwhile(filled: Shop, sinks: Sinks, mode: str) -> None:
    prepared = sinks.prepare(filled.table(), filled.spark.sql(sold(MINE)), **settings(mode))
    filled.insert(THEIRS)
    prepared.publish()
    assert {MINE, THEIRS} <= set(filled.rows())


def test_what_others_have_created_meanwhile_is_not_replaced(shop: Shop, sinks: Sinks) -> None:
    prepared = sinks.prepare(shop.table(), shop.spark.sql(sold(MINE)), mode="error-if-exists")
    shop.create()
    shop.insert(THEIRS)
    with pytest.raises(PublicationConflictError, match="others"):
        prepared.publish()
    assert shop.rows() == [THEIRS]


def test_of_two_attempts_of_a_run_one_appends_to_delta(filled: Shop, sinks: Sinks) -> None:
    first, second = (
        sinks.prepare(filled.table(), filled.spark.sql(sold((3, "mon", amount))), mode="append") for amount in (1, 2)
    )
    second.publish()
    with pytest.raises(DecisionLostError):
        first.publish()
    assert filled.rows() == sorted([*OLD, (3, "mon", 2)])


POINTS: dict[str, tuple[Any, str, bool]] = {
    "before it is decided": (Ledger, "decide", False),
    "after it is decided": (Ledger, "decide", True),
    "before the commit": (delta, "_write", False),
    "after the commit": (delta, "_write", True),
    "before the end is recorded": (Ledger, "finish", False),
    "after the end is recorded": (Ledger, "finish", True),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("point", POINTS)
def test_a_driver_that_dies_anywhere_commits_once(
    shop: Shop, sinks: Sinks, monkeypatch: pytest.MonkeyPatch, mode: str, point: str
) -> None:
    shop.create()
    owner, name, after = POINTS[point]
    die(monkeypatch, owner, name, after=after)
    with dying():
        sinks.write(shop.table(), sold(MINE), **settings(mode))
    assert shop.rows() in ([], [MINE])
    sinks.write(shop.table(), sold(MINE), **settings(mode))
    assert shop.rows() == [MINE]


@pytest.mark.parametrize("point", POINTS)
def test_a_driver_that_dies_anywhere_replaces_once(
    filled: Shop, sinks: Sinks, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    before = (3, "mon", 29)
    sinks.write(filled.table(), sold(before), mode="append")
    owner, name, after = POINTS[point]
    die(monkeypatch, owner, name, after=after)
    with dying():
        sinks.write(filled.table(), sold(MINE), mode="append")
    assert filled.rows() in (sorted([*OLD, before]), sorted([*OLD, MINE]))
    sinks.write(filled.table(), sold(THEIRS), mode="append", run="r2")
    sinks.write(filled.table(), sold(MINE), mode="append")
    assert filled.rows() == sorted([*OLD, MINE, THEIRS])


@pytest.mark.parametrize("exists", [True, False])
@pytest.mark.parametrize("mode", MODES)
def test_what_a_dead_driver_has_decided_is_committed_by_the_next_run(
    shop: Shop, sinks: Sinks, monkeypatch: pytest.MonkeyPatch, mode: str, exists: bool
) -> None:
    if exists:
        shop.create()
    table = shop.table(partitioned_by=("day",))
    die(monkeypatch, delta, "_write")
    with dying():
        sinks.write(table, sold(MINE), **settings(mode))
    sinks.write(table, sold(THEIRS), mode="append", run="r2")
    assert shop.rows() == [MINE, THEIRS]


@pytest.mark.parametrize("mode", MODES)
def test_lost_answers_and_requests_of_delta(
    shop: Shop, sinks: Sinks, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    shop.create()
    write = delta._write

    def lost_answer(*arguments: Any, **named: Any) -> None:
        write(*arguments, **named)
        raise Py4JError("the answer is lost")

    def lost_request(*_: Any, **__: Any) -> None:
        raise Py4JError("it was not sent")

    with monkeypatch.context() as patched:
        patched.setattr(delta, "_write", lost_request)
        with pytest.raises(Py4JError):
            sinks.write(shop.table(), sold(MINE), **settings(mode))
    assert shop.rows() == []
    monkeypatch.setattr(delta, "_write", lost_answer)
    sinks.write(shop.table(), sold(THEIRS), mode="append", run="r2")
    assert shop.rows() == [MINE, THEIRS]


@pytest.mark.parametrize("mode", MODES)
def test_a_driver_that_sleeps_before_its_commit_finds_it_in_the_log(
    shop: Shop, sinks: Sinks, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    shop.create()
    sleeping(monkeypatch, delta, "_write", lambda: sinks.write(shop.table(), sold(THEIRS), mode="append", run="r2"))
    sinks.write(shop.table(), sold(MINE), **settings(mode))
    assert shop.rows() == [MINE, THEIRS]


def test_two_drivers_that_commit_one_decision_at_the_same_time_commit_it_once(
    shop: Shop, sinks: Sinks, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.create()
    both, write = threading.Barrier(2), delta._write

    def together(*arguments: Any, **named: Any) -> None:
        both.wait(60)
        write(*arguments, **named)

    die(monkeypatch, delta, "_write")
    opened = sinks.open(shop.table(), mode="append")
    prepared = opened.prepare(opened.check(shop.spark.sql(sold(MINE))))
    with dying():
        prepared.publish()
    monkeypatch.setattr(delta, "_write", together)
    ledger: Ledger = opened.ledger  # type: ignore[attr-defined]
    (decided,) = ledger.of_this_run(f"delta:{shop.path}", None, 1)
    threads = [
        threading.Thread(target=delta._carry_out, args=(decided, shop.table(), shop.spark, ledger)) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert shop.rows() == [MINE]


def test_a_delta_table_that_was_created_again_is_another_one(filled: Shop, sinks: Sinks) -> None:
    prepared = sinks.prepare(filled.table(), filled.spark.sql(sold(MINE)), mode="append")
    again(filled)
    with pytest.raises(PublicationConflictError, match="created again"):
        prepared.publish()
    for _ in range(2):  # the second is a confirmation
        sinks.write(filled.table(), sold(MINE), mode="append")
    assert filled.rows() == [MINE]
    again(filled)
    sinks.write(filled.table(), sold(MINE), mode="append")
    assert filled.rows() == [MINE], "what this run has appended was to another table"


@pytest.mark.parametrize("is_forgotten", [True, False])
def test_the_run_that_created_delta_does_not_append_twice_when_its_id_has_expired(
    shop: Shop, sinks: Sinks, is_forgotten: bool
) -> None:
    sinks.write(shop.table(), sold(MINE), mode="append")
    expiry = "'delta.setTransactionRetentionDuration' = 'interval 0 seconds'"
    shop.spark.sql(f"ALTER TABLE delta.`{shop.path}` SET TBLPROPERTIES ({expiry})")
    if is_forgotten:
        DeltaTable.load(shop.spark, shop.path).java.deltaLog().checkpoint()
        (Path(shop.path) / "_delta_log" / f"{0:020}.json").unlink()
        for rows in (MINE, (3, "mon", 31)):
            with pytest.raises(PublicationError, match="the log has forgotten their commit"):
                sinks.write(shop.table(), sold(rows), mode="append")
        assert shop.rows() == [MINE]
    else:
        sinks.write(shop.table(), sold((3, "mon", 31)), mode="append")
        assert shop.rows() == [(3, "mon", 31)]


def test_a_commit_is_never_taken_for_that_of_another_with_the_same_names(filled: Shop, sinks: Sinks) -> None:
    for run in ("r1", "r2"):
        sinks.numbers = itertools.count()  # the execution of another pipeline may have the same name
        sinks.write(filled.table(), sold(MINE if run == "r1" else THEIRS), mode="append", run=run)
    assert {MINE, THEIRS} <= set(filled.rows())


def again(shop: Shop) -> None:
    """Remove the table, and create it again."""
    shutil.rmtree(shop.path)
    shop.spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()  # type: ignore[union-attr]
    shop.create()


def test_an_optimized_and_vacuumed_table_is_read_and_written(filled: Shop, sinks: Sinks) -> None:
    prepared = sinks.prepare(filled.table(), filled.spark.sql(sold(MINE)), mode="append")
    filled.insert((4, "mon", 40))
    filled.spark.sql(f"OPTIMIZE delta.`{filled.path}`")
    with few_listing_tasks(filled.spark):
        filled.spark.sql(f"VACUUM delta.`{filled.path}`")
    prepared.publish()
    assert filled.rows() == sorted([*OLD, MINE, (4, "mon", 40)])


def test_a_version_of_delta_is_pinned_or_named(filled: Shop, spark: SparkSession) -> None:
    rows = read_source(filled.table(), spark)
    filled.insert(MINE)
    assert rows.count() == 2
    assert read_source(filled.table(), spark).count() == 3
    assert read_source(filled.table(version=1), spark).count() == 2
    assert read_source(filled.table(version=0), spark).count() == 0
    for wrong in ({"version": 50}, {"timestamp": "2001-01-01"}, {"timestamp": "2101-01-01"}):
        with pytest.raises(TableFormatError):
            read_source(filled.table(**wrong), spark)
    with pytest.raises(TableFormatError, match="is no Delta table"):
        read_source(Delta(f"{filled.path}-none"), spark)


def test_a_pipeline_reads_delta_and_writes_it(
    filled: Shop, run_pipeline: Callable[..., list[Any]], tmp_path: Path
) -> None:
    env = StreamExecutionEnvironment("lake")
    rows = env.from_source(filled.table(), "sold")
    rows.sink_to(Parquet(f"{tmp_path}/out")).name("out")
    rows.select("id", "day", amount="amount * 2").sink_to(Delta(f"{tmp_path}/twice"), mode="append").name("twice")
    (report,) = run_pipeline(env.pipeline())
    assert report.failure is None
    assert Shop(filled.spark, f"{tmp_path}/twice").rows() == [(1, "mon", 20), (2, "tue", 40)]


def test_parameters_are_bound_though_deltas_parser_leaves_them_out(
    filled: Shop, run_pipeline: Callable[..., list[Any]], tmp_path: Path
) -> None:
    env = StreamExecutionEnvironment("lake", params={"least": 15, "day": "tue"})
    rows = env.from_source(filled.table(), "sold")
    rows.filter("amount > :least").sink_to(Parquet(f"{tmp_path}/much")).name("much")
    rows.sql("SELECT id FROM {input} WHERE day = :day AND id IN (SELECT id FROM {input})").name("tuesdays").sink_to(
        Parquet(f"{tmp_path}/tuesdays")
    ).name("out")
    (report,) = run_pipeline(env.pipeline())
    assert report.failure is None
    for name in ("much", "tuesdays"):
        assert [row.id for row in filled.spark.read.parquet(f"{tmp_path}/{name}").collect()] == [2]
