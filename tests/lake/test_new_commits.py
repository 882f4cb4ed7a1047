"""Sources of tables that read only what was committed since the last run, or between two commits."""

import shutil
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from graph_compiler import Delta, Iceberg, Merge, Parquet, StreamExecutionEnvironment
from graph_compiler.spark_runtime.connectors import read_source
from graph_compiler.spark_runtime.connectors.lake.formats import TableFormatError
from graph_compiler.spark_runtime.region.coordination import SinkCommitter
from graph_compiler.staging.attempts.attempt_documents import AttemptDocuments
from tests.harness.position_runs import Runs
from tests.lake.conftest import Lake

pytestmark = pytest.mark.lake
FORMATS = pytest.mark.parametrize("orders", ["iceberg", "delta"], indirect=True)


@dataclass
class Orders:
    """A table of orders that other programs write; `sql` is its name."""

    spark: SparkSession
    source: Iceberg | Delta
    sql: str

    def do(self, statement: str) -> None:
        self.spark.sql(statement.replace("orders", self.sql))

    def insert(self, *ids: int) -> None:
        self.do(f"INSERT INTO orders VALUES {', '.join(f'({id}, {id})' for id in ids)}")

    def compact(self) -> None:
        if isinstance(self.source, Delta):
            self.do("OPTIMIZE orders")
        else:
            catalog, _, name = self.source.name.partition(".")
            options = "options => map('rewrite-all', 'true')"
            self.spark.sql(f"CALL {catalog}.system.rewrite_data_files(table => '{name}', {options})")

    def commit(self) -> int:
        """Return the last commit."""
        if isinstance(self.source, Delta):
            return int(self.spark.sql(f"DESCRIBE HISTORY {self.sql} LIMIT 1").collect()[0].version)
        return int(self.spark.sql(f"SELECT snapshot_id FROM {self.sql}.refs WHERE name = 'main'").collect()[0][0])

    def rows(self, **settings: Any) -> list[tuple[Any, ...]]:
        source = type(self.source)(**{**_given(self.source), **settings})
        return sorted(tuple(row) for row in read_source(source, self.spark).collect())


def _given(source: Iceberg | Delta) -> dict[str, Any]:
    return {"path": source.path} if isinstance(source, Delta) else {"name": source.name, "catalog": source.catalog}


@pytest.fixture
def orders(request: pytest.FixtureRequest, spark: SparkSession, lake: Lake, tmp_path: Path) -> Orders:
    if request.param == "delta":
        source = Delta(f"{tmp_path}/orders")
        made = Orders(spark, source, f"delta.`{source.path}`")
        made.do("CREATE TABLE orders (id INT, v INT) USING delta TBLPROPERTIES (delta.enableChangeDataFeed = true)")
        return made
    return Orders(spark, lake.create("id INT, v INT", "orders"), f"{lake.name}.db.orders")


def runs_of(orders: Orders, folder: Path, **settings: Any) -> Runs:
    env = StreamExecutionEnvironment("shop")
    source = type(orders.source)(**{**_given(orders.source), **settings})
    rows = env.from_source(source, "orders", only_new=True).uid("orders")
    rows.sink_to(Parquet(f"{folder}/out"), mode="append").name("out").uid("out")
    return Runs(env, folder, orders.spark)


def ids(runs: Runs) -> list[int]:
    return sorted(row.id for row in runs.spark.read.parquet(f"{runs.folder}/out").select("id").collect())


@FORMATS
def test_each_run_reads_the_rows_that_were_added_since_the_last_one(orders: Orders, tmp_path: Path) -> None:
    runs = runs_of(orders, tmp_path)
    assert runs.run("r0") == []  # no row yet
    orders.insert(1, 2)
    assert runs.run("r1") == []
    assert runs.run("r2") == []
    (read,) = runs.report().increments
    assert read.words().startswith("'orders' has read no new ")
    orders.insert(3)
    orders.compact()
    orders.insert(4)
    orders.compact()
    assert runs.run("r3") == []
    assert ids(runs) == [1, 2, 3, 4]
    orders.compact()
    assert runs.run("r4") == []
    assert ids(runs) == [1, 2, 3, 4]


@FORMATS
@pytest.mark.parametrize(
    ("settings", "found"), [({}, [1, 2]), ({"version": "first"}, [1])], ids=["the current rows", "those of a commit"]
)
def test_a_retry_reads_the_commit_that_is_current_then(
    orders: Orders, settings: dict[str, Any], found: list[int], tmp_path: Path
) -> None:
    def declared(v: str) -> StreamExecutionEnvironment:
        env = StreamExecutionEnvironment("shop")
        rows = env.from_source(type(orders.source)(**{**_given(orders.source), **settings}), "orders")
        kept = rows.filter("id > 0").name("kept").stage("one task", same_task=True)
        kept.with_columns(v=v).sink_to(Parquet(f"{tmp_path}/out")).name("out")
        return env

    orders.insert(1)
    if settings:
        settings = {"version": orders.commit()}
    runs = Runs(declared("CAST(concat('x', id) AS INT)"), tmp_path, orders.spark)
    assert "x1" in runs.run("r1")[0]
    orders.insert(2)
    runs.env = declared("v")
    assert runs.run("r1") == []
    assert ids(runs) == found
    kept = AttemptDocuments.of(runs.last[0]).is_kept()
    assert kept == bool(settings), "a commit that has a number does not change"


@FORMATS
def test_a_run_that_is_tried_again_reads_the_same_commits(
    orders: Orders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = runs_of(orders, tmp_path)

    def crash(*_: object) -> Any:
        raise RuntimeError("crash")

    for number, run in enumerate(("r0", "r1"), 1):
        with monkeypatch.context() as patch:
            patch.setattr(SinkCommitter, "prepare", crash)
            assert "crash" in runs.run(run)[0]
        orders.insert(number)
        assert runs.run(run) == []
        assert ids(runs) == list(range(1, number))
    assert runs.run("r2") == []
    assert ids(runs) == [1, 2]


@FORMATS
@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM orders WHERE id = 1",
        "UPDATE orders SET v = 9 WHERE id = 1",
        "INSERT OVERWRITE orders VALUES (7, 7)",
    ],
)
def test_rows_that_were_changed_are_never_left_out_without_a_word(
    statement: str, orders: Orders, tmp_path: Path
) -> None:
    runs = runs_of(orders, tmp_path)
    orders.insert(1, 2)
    assert runs.run("r1") == []
    orders.do(statement)
    orders.insert(3)
    (said,) = runs.run("r2")
    assert "has changed or removed rows" in said
    assert "changes=True" in said
    assert ids(runs) == [1, 2]


@FORMATS
def test_a_table_that_was_created_again_has_another_position(orders: Orders, tmp_path: Path) -> None:
    runs = runs_of(orders, tmp_path)
    orders.insert(1)
    assert runs.run("r1") == []
    if isinstance(orders.source, Delta):
        shutil.rmtree(orders.source.path)
        orders.do("CREATE TABLE orders (id INT, v INT) USING delta")
    else:
        orders.do("DROP TABLE orders")
        orders.do("CREATE TABLE orders (id INT, v INT) USING iceberg")
    orders.insert(2)
    orders.insert(3)
    (said,) = runs.run("r2")
    assert "was created again" in said
    assert ids(runs) == [1]


@FORMATS
def test_a_table_that_was_rolled_back_is_not_read_as_if_it_grew(orders: Orders, tmp_path: Path) -> None:
    runs = runs_of(orders, tmp_path)
    orders.insert(1)
    before = orders.commit()
    orders.insert(2)
    assert runs.run("r1") == []
    if isinstance(orders.source, Delta):
        orders.do(f"RESTORE TABLE orders TO VERSION AS OF {before}")
    else:
        catalog, _, name = orders.source.name.partition(".")
        orders.spark.sql(f"CALL {catalog}.system.rollback_to_snapshot('{name}', {before})")
    orders.insert(3)
    (said,) = runs.run("r2")
    assert "was rolled back" in said or "has changed or removed rows" in said
    assert ids(runs) == [1, 2]


def test_commits_that_have_expired_are_not_left_out_without_a_word(lake: Lake, tmp_path: Path) -> None:
    orders = Orders(lake.spark, lake.create("id INT, v INT", "orders"), f"{lake.name}.db.orders")
    runs = runs_of(orders, tmp_path)
    orders.insert(1)
    assert runs.run("r1") == []
    orders.insert(2)
    orders.insert(3)
    lake.spark.sql(
        f"CALL {lake.name}.system.expire_snapshots(table => 'db.orders', older_than => now(), retain_last => 1)"
    )
    (said,) = runs.run("r2")
    assert "have expired" in said
    assert "positions reset" in said
    assert ids(runs) == [1]


@FORMATS
def test_rows_between_two_commits(orders: Orders) -> None:
    orders.insert(1)
    one = orders.commit()
    orders.insert(2)
    two = orders.commit()
    orders.insert(3)
    assert orders.rows(since=one) == [(2, 2), (3, 3)]
    assert orders.rows(since=one, version=two) == [(2, 2)]
    assert orders.rows(since=two, version=two) == orders.rows(since=two, version=two, changes=True) == []
    with pytest.raises(TableFormatError):
        orders.rows(since=two, version=one)


def test_a_delta_table_without_a_feed_has_no_changes(spark: SparkSession, tmp_path: Path) -> None:
    source = Delta(f"{tmp_path}/plain")
    orders = Orders(spark, source, f"delta.`{source.path}`")
    orders.do("CREATE TABLE orders (id INT, v INT) USING delta")
    orders.insert(1)
    assert orders.rows(since=0) == [(1, 1)]
    with pytest.raises(TableFormatError, match=r"SET TBLPROPERTIES \(delta.enableChangeDataFeed = true\)"):
        orders.rows(since=0, changes=True)
    orders.do("ALTER TABLE orders SET TBLPROPERTIES (delta.enableChangeDataFeed = 'TRUE')")
    orders.insert(2)
    assert orders.rows(since=2, changes=True) == [(2, 2, "insert", 3)]


@pytest.mark.parametrize(
    ("kind", "words"),
    [("BINARY", "BINARY in odd"), ("ARRAY<BINARY>", "BINARY in odd"), ("MAP<STRING, INT>", "columns of type MAP")],
)
def test_changes_of_what_iceberg_cannot_compare_are_refused(lake: Lake, kind: str, words: str) -> None:
    orders = Orders(lake.spark, lake.create(f"id INT, odd {kind}", "orders"), f"{lake.name}.db.orders")
    for id in (1, 2):
        orders.do(f"INSERT INTO orders VALUES ({id}, NULL)")
    first = orders.spark.sql(f"SELECT min_by(snapshot_id, committed_at) FROM {orders.sql}.snapshots").collect()[0][0]
    assert orders.rows(since=first) == [(2, None)]
    with pytest.raises(TableFormatError, match=words):
        orders.rows(since=first, changes=True)


def test_changes_of_a_table_with_deletes_beside_its_files_are_refused(lake: Lake) -> None:
    orders = Orders(lake.spark, lake.create("id INT, v INT", "orders"), f"{lake.name}.db.orders")
    modes = ", ".join(f"'write.{each}.mode' = 'merge-on-read'" for each in ("delete", "update", "merge"))
    orders.do(f"ALTER TABLE orders SET TBLPROPERTIES ({modes})")
    orders.do("INSERT INTO orders SELECT /*+ COALESCE(1) */ * FROM VALUES (1, 1), (2, 2), (3, 3)")
    first = orders.commit()
    orders.do("DELETE FROM orders WHERE id = 2")
    with pytest.raises(TableFormatError, match=f"files of deletes beside its rows at snapshot {orders.commit()}"):
        orders.rows(since=first, changes=True)


_id = st.integers(0, 4)
_statement = st.one_of(
    st.builds(lambda id, v: f"INSERT INTO orders VALUES ({id}, {v})", _id, _id),
    st.builds(lambda id: f"DELETE FROM orders WHERE id = {id}", _id),
    st.builds(lambda id, v: f"UPDATE orders SET v = {v} WHERE id <= {id}", _id, _id),
    st.just("compact"),
    st.just("run"),
)


@FORMATS
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(statements=st.lists(_statement, min_size=4, max_size=9))
def test_all_changes_of_all_runs_make_the_table(orders: Orders, statements: list[str]) -> None:
    start = orders.commit() if orders.rows() else None
    held = Counter(orders.rows())
    for statement in [*statements, "run"]:
        if statement == "compact":
            orders.compact()
        elif statement != "run":
            orders.do(statement)
        elif orders.rows() or start is not None:
            until = orders.commit()
            for id, v, kind, _ in sorted(orders.rows(since=start, version=until, changes=True), key=lambda row: row[3]):
                held[id, v] += -1 if kind in ("delete", "update_preimage") else 1
            start = until
            assert +held == Counter(orders.rows())
            assert min(held.values(), default=0) >= 0


@FORMATS
def test_a_copy_follows_a_table_by_its_changes(orders: Orders, tmp_path: Path) -> None:
    copy = type(orders.source)(**{**_given(orders.source), _place(orders.source): f"{_named(orders.source)}_copy"})
    made = replace(copy, create_if_missing=True) if isinstance(copy, Iceberg) else copy
    made = replace(made, schema="id INT, v INT, _commit_version BIGINT")
    env = StreamExecutionEnvironment("shop")
    changes = env.from_source(replace(orders.source, changes=True), "orders", only_new=True).uid("orders")
    merged = Merge(sequence_by="_commit_version", apply_as_deletes="gone")
    (
        changes.filter("_change_type <> 'update_preimage'")
        .select("id", "v", "_commit_version", gone="_change_type = 'delete'")
        .sink_to(made, mode="merge", keys="id", merge=merged)
        .name("copy")
        .uid("copy")
    )
    runs = Runs(env, tmp_path, orders.spark)
    orders.insert(1, 2, 3, 4)
    for number, statements in enumerate(
        (
            (),
            ("UPDATE orders SET v = 20 WHERE id = 2", "DELETE FROM orders WHERE id = 3"),
            ("MERGE INTO orders t USING (SELECT 1 AS id, 9 AS v) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *",),
            ("DELETE FROM orders WHERE id = 1", "INSERT INTO orders VALUES (1, 7)", "compact"),
            ("INSERT OVERWRITE orders VALUES (5, 5), (2, 2)",),
        )
    ):
        for statement in statements:
            orders.compact() if statement == "compact" else orders.do(statement)
        assert runs.run(f"r{number}") == []
        copied = sorted((row.id, row.v) for row in read_source(copy, orders.spark).collect())
        assert copied == orders.rows()


def _place(source: Iceberg | Delta) -> str:
    return "path" if isinstance(source, Delta) else "name"


def _named(source: Iceberg | Delta) -> str:
    return source.path if isinstance(source, Delta) else source.name
