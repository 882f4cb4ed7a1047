"""What each mode does to a table of Iceberg, and what a reader of one snapshot sees."""

import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession

from graph_compiler import Parquet, StreamExecutionEnvironment
from graph_compiler.deployment.documents.report import PublishedCommit
from graph_compiler.errors import DecisionLostError, PublicationConflictError, PublicationError, SchemaChangedError
from graph_compiler.spark_runtime.connectors import read_source
from graph_compiler.spark_runtime.connectors.lake.formats import TableFormatError
from tests.harness.sinks import Sinks
from tests.lake.conftest import Lake, sold

pytestmark = pytest.mark.lake
COLUMNS = "id INT, day STRING, amount INT"
OLD = ((1, "mon", 10), (2, "tue", 20))
MINE = (3, "mon", 30)


@pytest.fixture
def filled(lake: Lake) -> Lake:
    """A table, partitioned by day, that has rows of others."""
    lake.create(COLUMNS, partitioned_by="day")
    lake.spark.sql(f"INSERT INTO {lake.name}.db.sold VALUES {', '.join(map(repr, OLD))}")
    return lake


@pytest.mark.parametrize(
    ("mode", "rows", "after"),
    [
        ("append", [(3, "mon", 30)], [*OLD, (3, "mon", 30)]),
        ("overwrite", [(3, "mon", 30)], [(3, "mon", 30)]),
        ("overwrite-partitions", [(3, "mon", 30)], [(2, "tue", 20), (3, "mon", 30)]),
        ("merge", [(2, "tue", 21), (3, "mon", 30)], [(1, "mon", 10), (2, "tue", 21), (3, "mon", 30)]),
        ("merge", [(2, "mon", 21)], [(1, "mon", 10), (2, "mon", 21)]),
    ],
)
def test_each_mode(
    filled: Lake, sinks: Sinks, mode: str, rows: list[tuple[int, str, int]], after: list[tuple[int, str, int]]
) -> None:
    settings: dict[str, Any] = {"keys": ("id",)} if mode == "merge" else {}
    prepared = sinks.prepare(filled.table(), filled.spark.sql(sold(*rows)), mode=mode, **settings)
    assert filled.rows() == sorted(OLD)
    assert len(filled.refs()) == 1
    commit = prepared.publish()
    assert filled.rows() == sorted(after)
    removed = None if mode == "merge" else len(OLD) + len(rows) - len(after)
    assert commit == PublishedCommit(kind="snapshot", id=str(filled.loaded().snapshot), removed_rows=removed)
    assert prepared.rows == len(rows)
    assert filled.refs() == []


def test_error_if_exists_takes_an_empty_table_and_its_own_rows_only(lake: Lake, sinks: Sinks) -> None:
    lake.create(COLUMNS)
    sinks.write(lake.table(), sold((1, "mon", 1)), mode="error-if-exists")
    sinks.write(lake.table(), sold((1, "mon", 2)), mode="error-if-exists")
    assert lake.rows() == [(1, "mon", 2)]
    with pytest.raises(PublicationError, match="exists"):
        sinks.write(lake.table(), sold((1, "mon", 3)), mode="error-if-exists", run="r2")
    lake.spark.sql(f"INSERT INTO {lake.name}.db.sold VALUES (2, 'tue', 2)")
    with pytest.raises(PublicationError, match="others have written"):
        sinks.write(lake.table(), sold((1, "mon", 3)), mode="error-if-exists")
    assert lake.rows() == [(1, "mon", 2), (2, "tue", 2)]


def test_a_run_appends_once(filled: Lake, sinks: Sinks) -> None:
    for _ in range(2):
        sinks.write(filled.table(), sold((3, "mon", 30)), mode="append")
    sinks.write(filled.table(), sold((3, "mon", 30)), mode="append", run="r2")
    assert filled.rows() == sorted([*OLD, (3, "mon", 30), (3, "mon", 30)])


def test_other_rows_of_the_same_run_take_the_place_of_those_it_has_appended(filled: Lake, sinks: Sinks) -> None:
    sinks.write(filled.table(), sold((3, "mon", 30), (4, "tue", 40)), mode="append")
    sinks.write(filled.table(), sold((5, "mon", 50)), mode="append", run="r2")
    for rows in ([(3, "mon", 31)], [(3, "mon", 32), (6, "wed", 60)], []):
        query = sold(*rows) if rows else f"{sold((1, 'mon', 1))} WHERE false"
        sinks.write(filled.table(), query, mode="append")
        assert filled.rows() == sorted([*OLD, (5, "mon", 50), *rows])
        assert filled.refs() == []


@pytest.mark.parametrize("mode", ["overwrite-partitions", "overwrite"])
def test_a_run_that_has_replaced_rows_and_appends_none_takes_its_own_back(
    filled: Lake, sinks: Sinks, mode: str
) -> None:
    """Iceberg finds no added rows in a snapshot that has also removed some."""
    sinks.write(filled.table(), sold((3, "mon", 30)), mode=mode)
    sinks.write(filled.table(), f"{sold((1, 'mon', 1))} WHERE false", mode="append")
    assert filled.rows() == ([(2, "tue", 20)] if mode == "overwrite-partitions" else [])


def test_equal_rows_of_the_same_run_commit_nothing(filled: Lake, sinks: Sinks) -> None:
    rows = "SELECT id, day, IF(id = 3, NULL, amount) AS amount FROM VALUES {} AS t(id, day, amount)"
    sinks.write(filled.table(), rows.format("(3, 'mon', 30), (4, 'tue', 40)"), mode="append")
    before = filled.loaded().snapshot
    again = filled.spark.sql(rows.format("(4, 'tue', 40), (3, 'mon', 99)"))
    commit = sinks.prepare(filled.table(), again, mode="append").publish()
    assert commit is not None
    assert commit.id == str(before), "the one that has the rows"
    assert (filled.loaded().snapshot, filled.refs()) == (before, [])


def test_rows_that_others_have_moved_are_known_to_be_equal_or_are_not_replaced(filled: Lake, sinks: Sinks) -> None:
    sinks.write(filled.table(), sold((3, "mon", 30)), mode="append")
    filled.compact()
    sinks.write(filled.table(), sold((3, "mon", 30)), mode="append")
    with pytest.raises(PublicationError, match="0 of 1 are in files of their own") as error:
        sinks.write(filled.table(), sold((3, "mon", 31)), mode="append")
    assert filled.rows() == sorted([*OLD, (3, "mon", 30)])
    # what the hint says
    filled.spark.sql(f"DELETE FROM {filled.name}.db.sold WHERE id = 3")
    command = next(line for line in str(error.value).splitlines() if "echo" in line)
    subprocess.run(["sh", "-c", command.partition("record that: ")[2].partition("; then")[0]], check=True)
    sinks.write(filled.table(), sold((3, "mon", 31)), mode="append")
    assert filled.rows() == sorted([*OLD, (3, "mon", 31)])


@pytest.mark.parametrize(
    ("change", "left"),
    [
        ("overwrite", [(9, "tue", 90)]),
        ("overwrite-partitions", [(1, "mon", 10), (9, "tue", 90)]),
        ("DELETE FROM {} WHERE day = 'tue'", [(1, "mon", 10)]),
        ("INSERT OVERWRITE {} SELECT 9, 'tue', 90", None),
    ],
)
def test_rows_that_others_have_replaced_are_appended_again(
    filled: Lake, sinks: Sinks, change: str, left: list[tuple[object, ...]] | None
) -> None:
    rows = [(3, "tue", 30)]
    sinks.write(filled.table(), sold(*rows), mode="append")
    if change.startswith("overwrite"):
        sinks.write(filled.table(), sold((9, "tue", 90)), mode=change, run="r2")
    else:
        filled.spark.sql(change.format(f"{filled.name}.db.sold"))
    if left is None:  # it might be a change of some rows, which writes the others again
        with pytest.raises(PublicationError, match="0 of 1 are in files of their own"):
            sinks.write(filled.table(), sold(*rows), mode="append")
    else:
        sinks.write(filled.table(), sold(*rows), mode="append")
        assert filled.rows() == sorted([*left, *rows])


@pytest.mark.parametrize("version", [2, 3])
def test_rows_that_others_have_updated_beside_their_file_are_not_replaced(
    filled: Lake, sinks: Sinks, version: int
) -> None:
    """Their file stays, beside one that marks them as removed; the updated ones are in a file of others."""
    name = f"{filled.name}.db.sold"
    filled.spark.sql(
        f"ALTER TABLE {name} SET TBLPROPERTIES ('format-version' = '{version}', 'write.merge.mode' = 'merge-on-read')"
    )
    merge = f"MERGE INTO {name} t USING (SELECT {{}} AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET t.amount = 7"
    rows = (MINE, (4, "mon", 40))
    sinks.write(filled.table(), sold(*rows), mode="append")
    filled.spark.sql(merge.format(1))  # of others: the own ones can be replaced
    sinks.write(filled.table(), sold(MINE, (4, "mon", 41)), mode="append")
    assert filled.rows() == sorted([(1, "mon", 7), OLD[1], MINE, (4, "mon", 41)])
    filled.spark.sql(merge.format(4))
    for again in (sold(MINE, (4, "mon", 41)), sold(MINE, (4, "mon", 42))):
        with pytest.raises(PublicationError, match="others have changed them, or moved them"):
            sinks.write(filled.table(), again, mode="append")
    assert filled.rows() == sorted([(1, "mon", 7), OLD[1], MINE, (4, "mon", 7)])


def test_what_a_run_has_merged_is_not_replaced_by_what_it_appends(filled: Lake, sinks: Sinks) -> None:
    """Its file has a row of others, too: as many rows as the merge was given."""
    sinks.write(filled.table(), sold((7, "tue", 70)), mode="append", run="r2")
    filled.compact()
    sinks.write(filled.table(), sold((2, "tue", 21), (3, "mon", 30)), mode="merge", keys=("id",))
    seen = filled.rows()
    with pytest.raises(PublicationError, match="has merged them with rows of others"):
        sinks.write(filled.table(), sold((3, "mon", 31)), mode="append")
    assert filled.rows() == seen


def test_rows_of_a_forgotten_snapshot_are_replaced(filled: Lake, sinks: Sinks) -> None:
    sinks.write(filled.table(), sold((3, "mon", 30)), mode="append")
    sinks.write(filled.table(), sold((4, "mon", 40)), mode="append", run="r2")
    sinks.write(filled.table(), sold((5, "mon", 50)), mode="append", run="r3")
    filled.expire()
    sinks.write(filled.table(), sold((4, "mon", 41)), mode="append", run="r2")
    assert filled.rows() == sorted([*OLD, (3, "mon", 30), (4, "mon", 41), (5, "mon", 50)])


def test_rows_that_a_person_has_rolled_back_are_appended_again(filled: Lake, sinks: Sinks) -> None:
    before = filled.loaded().snapshot
    sinks.write(filled.table(), sold((3, "mon", 30)), mode="append")
    filled.loaded().java.manageSnapshots().rollbackTo(before).commit()
    sinks.write(filled.table(), sold((3, "mon", 30)), mode="append")
    assert filled.rows() == sorted([*OLD, (3, "mon", 30)])


@pytest.mark.parametrize("mode", ["append", "overwrite", "overwrite-partitions"])
def test_no_rows(filled: Lake, sinks: Sinks, mode: str) -> None:
    sinks.write(filled.table(), f"{sold((1, 'mon', 1))} WHERE false", mode=mode)
    assert filled.rows() == ([] if mode == "overwrite" else sorted(OLD))
    assert filled.refs() == []


def test_a_missing_table_is_created_only_if_that_is_declared(lake: Lake, sinks: Sinks) -> None:
    with pytest.raises(PublicationError, match="create_if_missing=True"):
        sinks.write(lake.table(), sold((1, "mon", 1)), mode="append")
    created = lake.table(create_if_missing=True, schema=COLUMNS, partitioned_by=("day", "bucket(4, id)"))
    sinks.write(created, sold((1, "mon", 1)), mode="append")
    assert lake.rows() == [(1, "mon", 1)]
    sinks.write(created, sold((2, "mon", 1)), mode="append", run="r2")
    with pytest.raises(PublicationError, match=r"is partitioned by day and bucket\(4, id\)"):
        sinks.write(lake.table(partitioned_by=("day",)), sold((3, "mon", 1)), mode="append", run="r3")


@pytest.mark.parametrize("kind", ["TINYINT", "STRING COLLATE UTF8_LCASE", "STRUCT<a: SMALLINT>", "INTERVAL DAY"])
def test_a_type_that_a_table_would_change_is_refused(lake: Lake, sinks: Sinks, kind: str) -> None:
    created = lake.table(create_if_missing=True, schema=f"id INT, odd {kind}")
    with pytest.raises(PublicationError, match="column 'odd'"):
        sinks.open(created, mode="append")


def test_a_table_without_partitions_is_not_replaced_by_accident(lake: Lake, sinks: Sinks) -> None:
    lake.create(COLUMNS)
    with pytest.raises(PublicationError, match="has no partitions"):
        sinks.open(lake.table(), mode="overwrite-partitions")


@pytest.mark.parametrize("mode", ["append", "merge"])
def test_bytes_that_are_not_utf_8_are_no_value_of_a_partition(lake: Lake, sinks: Sinks, mode: str) -> None:
    lake.create(COLUMNS, partitioned_by="day")
    rows = "SELECT * FROM VALUES (1, X'FF', 1), (2, X'FE', 1), (3, X'61', 1) AS t(id, day, amount)"
    rows = f"SELECT id, CAST(day AS STRING) AS day, amount FROM ({rows})"
    how: dict[str, Any] = {"mode": mode, "keys": ("id", "day")} if mode == "merge" else {"mode": mode}
    with pytest.raises(PublicationError, match="column 'day': 2 rows with bytes that are not UTF-8"):
        sinks.write(lake.table(), rows, **how)
    assert lake.rows() == []
    lake.create(COLUMNS, "by_number", partitioned_by="bucket(4, day)")
    sinks.write(lake.table("by_number"), rows, **how)
    found = lake.spark.sql(f"SELECT hex(day) FROM {lake.name}.db.by_number").collect()
    assert sorted(row[0] for row in found) == ["61", "FE", "FF"]


def test_a_table_whose_last_partition_was_dropped_has_none(lake: Lake, sinks: Sinks) -> None:
    lake.use()
    version = "TBLPROPERTIES ('format-version' = '1')"
    lake.spark.sql(f"CREATE TABLE {lake.name}.db.sold ({COLUMNS}) USING iceberg PARTITIONED BY (day) {version}")
    lake.spark.sql(f"INSERT INTO {lake.name}.db.sold {sold(*OLD)}")
    lake.loaded().java.updateSpec().removeField("day").commit()
    lake.compact()
    assert lake.loaded().partitions() == ()
    with pytest.raises(PublicationError, match="has no partitions"):
        sinks.open(lake.table(), mode="overwrite-partitions")
    lake.loaded().java.updateSpec().addField("amount").commit()
    assert lake.loaded().partitions() == ("amount",)


def test_partitions_are_replaced_only_where_all_files_have_those_of_the_table(filled: Lake, sinks: Sinks) -> None:
    filled.loaded().java.updateSpec().addField("amount").commit()
    with pytest.raises(PublicationError, match=r"from before it was partitioned by day and amount"):
        sinks.open(filled.table(), mode="overwrite-partitions")
    filled.compact()
    opened = sinks.open(filled.table(), mode="overwrite-partitions")
    filled.loaded().java.updateSpec().removeField("amount").commit()
    with pytest.raises(PublicationError, match="from before it was partitioned by day:"):
        opened.prepare(opened.check(filled.spark.sql(sold((1, "mon", 10)))))
    filled.compact()
    sinks.write(filled.table(), sold((1, "mon", 10)), mode="overwrite-partitions")
    assert filled.rows() == list(OLD)


@pytest.mark.parametrize("setting", ["spark.wap.id", "spark.wap.branch"])
def test_a_session_that_would_stage_the_rows_is_refused(filled: Lake, sinks: Sinks, setting: str) -> None:
    filled.spark.sql(f"ALTER TABLE {filled.name}.db.sold SET TBLPROPERTIES ('write.wap.enabled' = 'true')")
    filled.spark.conf.set(setting, "audit")
    try:
        with pytest.raises(PublicationError, match=f"has write.wap.enabled=true, and the session has {setting}:"):
            sinks.write(filled.table(), sold(MINE), mode="append")
    finally:
        filled.spark.conf.unset(setting)
    sinks.write(filled.table(), sold(MINE), mode="append")
    assert filled.rows() == sorted([*OLD, MINE])


def test_columns_are_compared_with_the_table(filled: Lake, sinks: Sinks) -> None:
    more = "SELECT 3 AS id, 'mon' AS day, 30 AS amount, struct('x' AS note) AS more"
    with pytest.raises(SchemaChangedError, match="column 'more' was added"):
        sinks.write(filled.table(), more, mode="append")
    sinks.write(filled.table(on_schema_change="evolve"), more, mode="append")
    assert (3, "mon", 30, ("x",)) in filled.rows()
    with pytest.raises(SchemaChangedError, match="column 'amount' is gone"):
        sinks.write(filled.table(), "SELECT 3 AS id, 'mon' AS day", mode="append", run="r2")


def test_a_column_whose_name_has_a_dot_is_added_and_no_field(filled: Lake, sinks: Sinks) -> None:
    evolving = filled.table(on_schema_change="evolve")
    more = "SELECT 3 AS id, 'mon' AS day, 30 AS amount, struct('x' AS note) AS more"
    sinks.write(evolving, more, mode="append")
    dotted = "SELECT 4 AS id, 'mon' AS day, 40 AS amount, struct('y' AS note, 1 AS `n.o`) AS more, 5 AS `more.x`"
    sinks.write(evolving, dotted, mode="append", run="r2")
    assert {(3, "mon", 30, ("x", None), None), (4, "mon", 40, ("y", 1), 5)} < set(filled.rows())


def test_null_in_a_column_that_must_have_a_value_fails(lake: Lake, sinks: Sinks) -> None:
    lake.create("id INT NOT NULL, day STRING, amount INT")
    rows = "SELECT IF(v = 2, NULL, v) AS id, 'mon' AS day, 1 AS amount FROM VALUES (1), (2) AS t(v)"
    with pytest.raises(Exception, match="NOT_NULL_ASSERT_VIOLATION"):
        sinks.write(lake.table(), rows, mode="append")
    assert lake.rows() == []
    sinks.write(lake.table(), rows.replace("IF(v = 2, NULL, v)", "nullif(v, 0)"), mode="append")
    assert len(lake.rows()) == 2, "a column that may be NULL, and is not"


@pytest.mark.parametrize("rows", [[(3, "mon", 1), (3, "mon", 2)]])
def test_keys_that_are_there_twice_are_refused(filled: Lake, sinks: Sinks, rows: list[tuple[int, str, int]]) -> None:
    with pytest.raises(PublicationError, match="id=3"):
        sinks.write(filled.table(), sold(*rows), mode="merge", keys=("id",))
    assert filled.rows() == sorted(OLD)


@pytest.mark.parametrize("mode", ["append", "overwrite-partitions"])
def test_others_may_add_rows_meanwhile(filled: Lake, sinks: Sinks, mode: str) -> None:
    prepared = sinks.prepare(filled.table(), filled.spark.sql(sold((3, "mon", 30))), mode=mode)
    filled.spark.sql(f"INSERT INTO {filled.name}.db.sold VALUES (9, 'wed', 90)")
    prepared.publish()
    assert {(3, "mon", 30), (9, "wed", 90)} <= set(filled.rows())


@pytest.mark.parametrize(
    ("mode", "change"),
    [
        ("overwrite-partitions", "(9, 'mon', 90)"),
        ("overwrite", "(9, 'wed', 90)"),
        ("merge", "(9, 'wed', 90)"),
        ("error-if-exists", "(9, 'wed', 90)"),
    ],
)
def test_what_others_change_meanwhile_is_a_conflict_and_the_next_attempt_publishes(
    lake: Lake, sinks: Sinks, mode: str, change: str
) -> None:
    lake.create(COLUMNS, partitioned_by="day")
    settings: dict[str, Any] = {"keys": ("id",)} if mode == "merge" else {}
    rows = sold((3, "mon", 30))
    prepared = sinks.prepare(lake.table(), lake.spark.sql(rows), mode=mode, **settings)
    lake.spark.sql(f"INSERT INTO {lake.name}.db.sold VALUES {change}")
    with pytest.raises(PublicationConflictError):
        prepared.publish()
    assert len(lake.rows()) == 1
    assert lake.refs() == []
    if mode != "error-if-exists":
        sinks.write(lake.table(), rows, mode=mode, **settings)
        assert (3, "mon", 30) in lake.rows()


def test_of_two_attempts_of_a_run_one_appends(filled: Lake, sinks: Sinks) -> None:
    first, second = (
        sinks.prepare(filled.table(), filled.spark.sql(sold((3, "mon", amount))), mode="append") for amount in (1, 2)
    )
    second.publish()
    with pytest.raises(DecisionLostError):
        first.publish()
    assert filled.rows() == sorted([*OLD, (3, "mon", 2)])


def test_two_runs_append_though_they_took_the_same_number(filled: Lake, sinks: Sinks) -> None:
    both = [
        sinks.prepare(filled.table(), filled.spark.sql(sold((id, "mon", 1))), mode="append", run=f"r{id}")
        for id in (3, 4)
    ]
    for prepared in both:
        prepared.publish()
    assert filled.rows() == sorted([*OLD, (3, "mon", 1), (4, "mon", 1)])


def test_a_pipeline_reads_one_snapshot_and_writes_a_table(
    filled: Lake, run_pipeline: Callable[..., list[object]], spark: SparkSession, tmp_path: object
) -> None:
    env = StreamExecutionEnvironment("lake")
    rows = env.from_source(filled.table(), "sold")
    rows.sink_to(Parquet(f"{tmp_path}/out")).name("out")
    doubled = rows.select("id", "day", amount="amount * 2")
    target = filled.table("twice", create_if_missing=True, schema=COLUMNS)
    doubled.sink_to(target, mode="append").name("twice")
    reports = run_pipeline(env.pipeline())
    assert [report.failure for report in reports] == [None]  # type: ignore[attr-defined]
    assert filled.rows("twice") == [(1, "mon", 20), (2, "tue", 40)]
    assert spark.read.parquet(f"{tmp_path}/out").count() == len(OLD)


def test_a_version_is_read_by_id_tag_or_time(filled: Lake, spark: SparkSession) -> None:
    table = f"{filled.name}.db.sold"
    first = spark.sql(f"SELECT snapshot_id, committed_at FROM {table}.snapshots").collect()[0]
    spark.sql(f"INSERT INTO {table} VALUES (3, 'wed', 30)")
    assert read_source(filled.table(), spark).count() == 3
    assert read_source(filled.table(version=first[0]), spark).count() == 2
    assert read_source(filled.table(version="main"), spark).count() == 3
    at = spark.sql(f"SELECT string(max(committed_at)) FROM {table}.snapshots").collect()[0][0]
    assert read_source(filled.table(timestamp=at), spark).count() == 3
    for wrong in ({"version": 5}, {"version": "none"}, {"timestamp": "2001-01-01"}, {"timestamp": "2999-01-01"}):
        with pytest.raises(TableFormatError):
            read_source(filled.table(**wrong), spark)


def test_a_source_does_not_see_what_comes_after_it_was_read(lake: Lake, spark: SparkSession) -> None:
    lake.create(COLUMNS)
    rows = read_source(lake.table(), spark)
    spark.sql(f"INSERT INTO {lake.name}.db.sold VALUES (3, 'wed', 30)")
    assert rows.count() == 0
    rows = read_source(lake.table(), spark)
    spark.sql(f"INSERT INTO {lake.name}.db.sold VALUES (4, 'wed', 30)")
    assert rows.count() == 1


@pytest.mark.parametrize("version", [1, 2, 3])
def test_each_version_of_the_format(lake: Lake, sinks: Sinks, version: int) -> None:
    """A version 3 numbers rows, also of what is applied to what others have committed meanwhile."""
    lake.use()
    name = f"{lake.name}.db.sold"
    lake.spark.sql(f"CREATE TABLE {name} ({COLUMNS}) USING iceberg TBLPROPERTIES ('format-version' = '{version}')")
    prepared = sinks.prepare(lake.table(), lake.spark.sql(sold((3, "mon", 30))), mode="append")
    lake.spark.sql(f"INSERT INTO {name} VALUES (9, 'wed', 90)")
    prepared.publish()
    sinks.write(lake.table(), sold((3, "mon", 31), (4, "mon", 40)), mode="merge", keys=("id",), run="r2")
    assert lake.rows() == [(3, "mon", 31), (4, "mon", 40), (9, "wed", 90)]


@pytest.mark.parametrize("kind", ["merge-on-read", "copy-on-write"])
def test_a_merge_whichever_way_the_table_is_merged(lake: Lake, sinks: Sinks, kind: str) -> None:
    lake.create(COLUMNS)
    name = f"{lake.name}.db.sold"
    lake.spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('write.merge.mode' = '{kind}')")
    sinks.write(lake.table(), sold((1, "mon", 1), (2, "mon", 2)), mode="append")
    sinks.write(lake.table(), sold((2, "mon", 20), (3, "mon", 30)), mode="merge", keys=("id",), run="r2")
    assert lake.rows() == [(1, "mon", 1), (2, "mon", 20), (3, "mon", 30)]


def test_a_merge_by_keys_that_equal_themselves(lake: Lake, sinks: Sinks) -> None:
    """NaN is one key, and so are 0.0 and -0.0, as Spark's joins have it."""
    lake.create("id DOUBLE, amount INT")
    rows = "SELECT double(id) AS id, amount FROM VALUES ('NaN', 1), ('0.0', 2) AS t(id, amount)"
    sinks.write(lake.table(), rows, mode="append")
    again = "SELECT double(id) AS id, amount FROM VALUES ('NaN', 10), ('-0.0', 20) AS t(id, amount)"
    sinks.write(lake.table(), again, mode="merge", keys=("id",), run="r2")
    assert sorted(row[1] for row in lake.rows()) == [10, 20]  # type: ignore[type-var]
    null = "SELECT CAST(NULL AS DOUBLE) AS id, 1 AS amount"
    with pytest.raises(PublicationError, match="NULL"):
        sinks.write(lake.table(), null, mode="merge", keys=("id",), run="r3")
