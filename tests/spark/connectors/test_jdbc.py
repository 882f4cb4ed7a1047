"""Databases, exercised against PostgreSQL: input splits, transactions, and messages of failures."""

import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

from graph_compiler import Jdbc, Parquet, Range, Secret, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.documents.report import ExecutionReport, ThrowableType
from graph_compiler.errors import PublicationConflictError, PublicationError, SchemaChangedError, SecretError
from graph_compiler.explain.plan.plan_writer import plan_of
from graph_compiler.explain.text.plan_text import explain_text
from graph_compiler.spark_runtime.columns.declared_schema import parse_schema
from graph_compiler.spark_runtime.connectors import read_source
from graph_compiler.spark_runtime.connectors.database import Database, Transaction
from graph_compiler.spark_runtime.connectors.databases.carrying import MARKS
from graph_compiler.spark_runtime.connectors.jdbc_sink import _refuse_rounding
from graph_compiler.spark_runtime.exchange.distribution import with_exactly
from graph_compiler.spark_runtime.failures.causes import read_cause
from graph_compiler.spark_runtime.failures.throwable_types import throwable_type
from graph_compiler.spark_runtime.spark_internals.jdbc import jdbc_type
from tests.harness.executed_plans import executions, executions_since
from tests.harness.identities import runs_elsewhere
from tests.harness.postgres import DRIVER, PASSWORD, Postgres
from tests.harness.sinks import Sinks
from tests.spark.conftest import RunPipeline

pytestmark = pytest.mark.spark


@pytest.fixture
def orders(postgres: Postgres) -> Jdbc:
    postgres.sql(
        "CREATE TABLE orders (id INT, day DATE NOT NULL, price NUMERIC(10, 2));"
        "INSERT INTO orders SELECT i, DATE '2013-01-01' + i, i / 2.0 FROM generate_series(0, 99) i;"
        "INSERT INTO orders VALUES (NULL, '2013-01-01', NULL), (-50, '2012-01-01', 0), (500, '2014-01-01', 0)"
    )
    return jdbc(postgres, "orders")


def jdbc(server: Postgres, table: str, **settings: Any) -> Jdbc:
    return Jdbc(server.url, table=table, user=server.user, password=PASSWORD, driver=DRIVER, **settings)


def splits(connector: Jdbc, spark: SparkSession, column: str) -> list[list[object]]:
    rows = read_source(connector, spark).select(column)
    return [[row[0] for row in part] for part in rows.rdd.glom().collect()]


@pytest.mark.ci
@pytest.mark.parametrize(
    ("column", "bounds", "sizes"),
    [
        ("id", (0, 100), [27, 25, 25, 26]),
        ("day", ("2013-01-01", "2013-04-11"), [27, 25, 25, 26]),
        ("day", ("2013-01-01 00:00:00", "2013-04-11 00:00:00"), [27, 25, 25, 26]),
    ],
)
def test_input_splits_are_read_one_by_one_disjoint_and_complete(
    column: str, bounds: tuple[Any, Any], sizes: list[int], orders: Jdbc, spark: SparkSession
) -> None:
    lower, upper = bounds
    connector = replace(
        orders, partition_column=column, lower_bound=lower, upper_bound=upper, num_partitions=4, fetch_size=10
    )
    found = splits(connector, spark, "id")
    assert [len(split) for split in found] == sizes
    assert None in found[0]
    ids = [id for split in found for id in split]
    assert sorted(id for id in ids if id is not None) == [-50, *range(100), 500]  # type: ignore[type-var]
    assert len(ids) == 103


def test_splits_are_as_many_as_the_source_is_parallel(orders: Jdbc, spark: SparkSession) -> None:
    connector = replace(orders, partition_column="id", lower_bound=0, upper_bound=100)
    rows = read_source(connector, spark, parallelism=3)
    assert rows.rdd.getNumPartitions() == 3
    assert with_exactly(rows, 3) is rows, "splits that are as many as was set need no exchange"


@pytest.mark.parametrize(("parts", "wanted"), [(5, [[0, 2, 4], [1, 3]]), (4, [[0, 2], [1, 3]])])
def test_partition_i_reads_the_splits_that_the_execution_graph_gives_subtask_i(
    parts: int, wanted: list[list[int]], orders: Jdbc, spark: SparkSession
) -> None:
    connector = replace(orders, partition_column="id", lower_bound=0, upper_bound=100, num_partitions=parts)
    env = StreamExecutionEnvironment("p")
    env.from_source(connector, "orders").set_parallelism(2).sink_to(Parquet("/out")).name("out")
    graph = compile_pipeline(env.pipeline()).execution_graph
    assert graph is not None
    (assigner,) = graph.vertices[0].input_splits
    assert [[split.number for split in assigner.of_subtask(n)] for n in (0, 1)] == wanted
    rows = read_source(connector, spark, parallelism=2)
    assert with_exactly(rows, 2) is rows, "no exchange deals them out anew"
    width = 100 // parts
    found = [
        sorted({row.id // width for row in part if row.id is not None and 0 <= row.id < 100})
        for part in rows.rdd.glom().collect()
    ]
    assert found == wanted


def test_splits_of_a_source_without_parallelism_are_partitions_each(orders: Jdbc, spark: SparkSession) -> None:
    connector = replace(orders, partition_column="id", lower_bound=0, upper_bound=100, num_partitions=5)
    assert read_source(connector, spark).rdd.getNumPartitions() == 5


def test_splits_are_in_the_execution_graph_with_the_subtask_that_reads_them(orders: Jdbc) -> None:
    connector = replace(orders, partition_column="id", lower_bound=0, upper_bound=100)
    env = StreamExecutionEnvironment("p")
    source = env.from_source(connector, "orders").set_parallelism(2)
    source.sink_to(Parquet("/out")).set_parallelism(2)
    compiled = compile_pipeline(env.pipeline())
    assert compiled.execution_graph is not None
    (assigner,) = compiled.execution_graph.vertices[0].input_splits
    read = [[split.description for split in assigner.of_subtask(number)] for number in (0, 1)]
    assert read == [["id < 50 OR id IS NULL"], ["id >= 50"]]
    assert "2 input splits" in explain_text(plan_of(compiled))


def test_a_query_is_read_and_its_numbers_keep_their_types(orders: Jdbc, spark: SparkSession) -> None:
    query = "SELECT price, day FROM orders WHERE id = 3"
    rows = read_source(replace(orders, table=None, query=query), spark)
    assert rows.schema.simpleString() == "struct<price:decimal(10,2),day:date>"
    assert [str(row.price) for row in rows.collect()] == ["1.50"]


def test_a_declared_schema_is_compared_with_the_table(orders: Jdbc, spark: SparkSession) -> None:
    right = "id INT, day DATE NOT NULL, price DECIMAL(10,2)"
    assert read_source(replace(orders, schema=right), spark).count() == 103
    wrong = "id INT NOT NULL, day DATE NOT NULL, price INT"
    with pytest.raises(SchemaChangedError) as refusal:
        read_source(replace(orders, schema=wrong), spark)
    assert str(refusal.value).splitlines()[1:3] == [
        "  column 'id' may be NULL now: found INT; expected INT NOT NULL",
        "  column 'price' has another type: found DECIMAL(10,2); expected INT",
    ]


def test_a_wrong_password_is_not_logged_and_is_retried(
    orders: Jdbc, run_pipeline: RunPipeline, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(PASSWORD.variable, "canary-9d1f")
    env = StreamExecutionEnvironment("p")
    env.from_source(orders, "orders").sink_to(orders_copy(orders)).name("copy")
    failure = run_pipeline(env.pipeline())[-1].failure
    assert failure is not None
    assert 'password authentication failed for user "etl"' in failure.message
    assert failure.throwable_type != "NON_RECOVERABLE_ERROR"
    captured = capfd.readouterr()
    assert "canary-9d1f" not in failure.message + captured.out + captured.err


def test_a_message_with_the_password_in_it_is_redacted(
    run_pipeline: RunPipeline, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    url = Secret("warehouse", "url")
    monkeypatch.setenv(url.variable, "jdbc:nobody://db/x?password=canary-9d1f")
    env = StreamExecutionEnvironment("p")
    monkeypatch.setenv(Secret("warehouse", "driver").variable, "canary-9d1f")
    sink = Jdbc(url, table="copy", driver="canary-9d1f.Driver")
    env.from_source(Range(0, 1), "numbers").sink_to(sink).name("copy")
    failure = run_pipeline(env.pipeline())[-1].failure
    assert failure is not None
    captured = capfd.readouterr()
    assert failure.message == "ClassNotFoundException: ***.Driver"
    assert "***.Driver" in captured.err
    assert "canary-9d1f" not in failure.message + captured.out + captured.err


def test_a_secret_that_did_not_reach_the_driver_is_named(spark: SparkSession) -> None:
    source = Jdbc("jdbc:postgresql://x/y", table="t", password=Secret("nowhere", "password"))
    with pytest.raises(SecretError, match=r"Secret\(nowhere.password\) has not reached the driver"):
        read_source(source, spark)


@pytest.mark.parametrize("mode", ["append", "overwrite", "error-if-exists"])
def test_a_missing_table_is_created(mode: str, sinks: Sinks, postgres: Postgres) -> None:
    query = "SELECT * FROM VALUES (1, 'a', DATE'2013-01-01'), (2, NULL, NULL) AS t(id, k, d)"
    written = sinks.write(jdbc(postgres, "public.sales"), query, mode=mode)
    assert (written.rows, written.location) == (2, "jdbc:public.sales")
    assert postgres.sql("SELECT * FROM sales ORDER BY id") == [("1", "a", "2013-01-01"), ("2", "", "")]
    assert tables(postgres) == ["sales"]


def test_append_adds_the_rows_of_a_run_once(
    sinks: Sinks, postgres: Postgres, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    sales = jdbc(postgres, "sales")
    for run in ("r1", "r2", "r2"):
        assert sinks.write(sales, spark.range(2), run=run, mode="append").rows == 2
    assert postgres.sql("SELECT id, count(*) FROM sales GROUP BY id ORDER BY id") == [("0", "2"), ("1", "2")]
    assert "execution e1 of this run has already appended 2 rows" in capsys.readouterr().err


@pytest.mark.ci
def test_runs_of_several_placements_each_append_once(sinks: Sinks, postgres: Postgres, spark: SparkSession) -> None:
    places = list(runs_elsewhere("p", "r").values())[:5]
    for run in [*places, *places]:
        sinks.write(jdbc(postgres, "sales"), spark.range(2), run=run, mode="append")
    assert postgres.sql("SELECT count(*) FROM sales") == [(str(2 * len(places)),)]
    marks = postgres.sql("SELECT pipeline, run_id FROM graph_compiler_publications")
    assert sorted(marks) == sorted((run.owner, "r") for run in places)


def test_a_second_instance_of_a_dag_run_does_not_overwrite_the_table_of_the_first(
    sinks: Sinks, postgres: Postgres
) -> None:
    runs = runs_elsewhere("p", "r")
    sales = jdbc(postgres, "sales")
    sinks.write(sales, "SELECT 1L AS id", run=runs["mapped there"])
    with pytest.raises(PublicationError, match="'p@nightly:asia:0' has published to its target"):
        sinks.write(sales, "SELECT 2L AS id", run=runs["mapped there, the second"])
    assert postgres.sql("SELECT id FROM sales") == [("1",)]


def test_overwrite_replaces_in_one_transaction_and_keeps_the_tables_definition(
    sinks: Sinks, postgres: Postgres
) -> None:
    postgres.sql("CREATE TABLE sales (id BIGINT PRIMARY KEY, k VARCHAR(3)); INSERT INTO sales VALUES (7, 'old')")
    sales = jdbc(postgres, "sales", on_schema_change="ignore")
    prepared = sinks.prepare(sales, sinks.spark.sql("SELECT 1L AS id, 'new' AS k, 2 AS more"))
    assert postgres.sql("SELECT * FROM sales") == [("7", "old")]
    prepared.publish()
    assert postgres.sql("SELECT * FROM sales") == [("1", "new")]
    assert postgres.sql("SELECT count(*) FROM pg_index WHERE indrelid = 'sales'::regclass") == [("1",)]
    with pytest.raises(Exception, match=r"VARCHAR\(3\) in the database, in table sales"):
        sinks.write(sales, "SELECT 1L AS id, 'much too long' AS k", run="r2")
    assert postgres.sql("SELECT * FROM sales") == [("1", "new")]


def test_rejected_rows_fail_the_publication_and_do_not_block_others(sinks: Sinks, postgres: Postgres) -> None:
    postgres.sql("CREATE TABLE sales (id BIGINT PRIMARY KEY); INSERT INTO sales VALUES (7)")
    sales = jdbc(postgres, "sales")
    with pytest.raises(PublicationError, match="does not take the rows: .*duplicate key"):
        sinks.write(sales, "SELECT * FROM VALUES (1L), (7L) AS t(id)", mode="append")
    assert postgres.sql("SELECT * FROM sales") == [("7",)]
    assert tables(postgres) == ["sales"]
    sinks.write(sales, "SELECT 8L AS id", mode="append")
    assert postgres.sql("SELECT * FROM sales ORDER BY id") == [("7",), ("8",)]


@pytest.mark.parametrize("mode", ["append", "merge"])
@pytest.mark.parametrize("dies", ["before the transaction", "after the transaction"])
def test_a_driver_that_dies_while_publishing_doubles_nothing(
    dies: str, mode: str, sinks: Sinks, postgres: Postgres, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    sales = jdbc(postgres, "sales")
    settings: dict[str, Any] = {"mode": mode, "keys": ("id",) if mode == "merge" else ()}
    sinks.write(sales, spark.range(0, 1), run="r0", mode="append")
    prepared = sinks.prepare(sales, spark.range(1, 3), run="r1", **settings)
    real = Database.transaction

    @contextmanager
    def dying(self: Database) -> Iterator[Transaction]:
        if dies == "after the transaction":
            with real(self) as transaction:
                yield transaction
        raise KeyboardInterrupt

    monkeypatch.setattr(Database, "transaction", dying)
    with pytest.raises(KeyboardInterrupt):
        prepared.publish()
    monkeypatch.setattr(Database, "transaction", real)
    assert sinks.write(sales, spark.range(1, 3), run="r1", **settings).rows == 2
    assert postgres.sql("SELECT id FROM sales ORDER BY id") == [("0",), ("1",), ("2",)]
    assert tables(postgres) == ["sales"]


def test_merge_upserts_by_key_and_is_repeatable(sinks: Sinks, postgres: Postgres) -> None:
    merged: dict[str, Any] = {"mode": "merge", "keys": ("ID", "day")}
    first = "SELECT * FROM VALUES (1, 'mon', 'a'), (2, 'mon', 'b') AS t(id, day, `what is`)"
    second = "SELECT * FROM VALUES (2, 'mon', 'B'), (2, 'tue', NULL) AS t(id, day, `what is`)"
    assert sinks.write(jdbc(postgres, "sales"), first, run="r1", **merged).rows == 2
    postgres.sql("CREATE UNIQUE INDEX ON sales (id, day)")
    for _ in range(2):
        assert sinks.write(jdbc(postgres, "sales"), second, run="r2", **merged).rows == 2
    assert postgres.sql("SELECT * FROM sales ORDER BY id, day") == [
        ("1", "mon", "a"),
        ("2", "mon", "B"),
        ("2", "tue", ""),
    ]
    assert tables(postgres) == ["sales"]


def test_merge_by_all_columns_adds_missing_rows(sinks: Sinks, postgres: Postgres) -> None:
    postgres.sql("CREATE TABLE sales (id INT); INSERT INTO sales VALUES (1)")
    query = "SELECT * FROM VALUES (1), (2) AS t(id)"
    sinks.write(jdbc(postgres, "sales"), query, mode="merge", keys=("id",))
    assert postgres.sql("SELECT * FROM sales ORDER BY id") == [("1",), ("2",)]


@pytest.mark.parametrize(("ids", "words"), [("(1), (1)", "id=1"), ("(1), (NULL)", "id=None")])
def test_merge_refuses_duplicate_and_null_keys(ids: str, words: str, sinks: Sinks, postgres: Postgres) -> None:
    postgres.sql("CREATE TABLE sales (id INT)")
    sink = sinks.open(jdbc(postgres, "sales"), mode="merge", keys=("id",))
    rows = sink.check(sinks.spark.sql(f"SELECT * FROM VALUES {ids} AS t(id)"))
    with pytest.raises(PublicationError, match=f"keys more than once, or NULL: {words}"):
        sink.prepare(rows)
    sink.discard()
    assert postgres.sql("SELECT * FROM sales") == []
    assert tables(postgres) == ["sales"]


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_concurrent_overwrites_and_creations_conflict(
    mode: str, sinks: Sinks, postgres: Postgres, spark: SparkSession
) -> None:
    sales = jdbc(postgres, "sales")
    if mode == "overwrite":
        postgres.sql("CREATE TABLE sales (id BIGINT)")
    one = sinks.prepare(sales, spark.range(0, 1), run="r1", mode=mode)
    sinks.write(sales, spark.range(1, 2), run="r2", mode=mode)
    with pytest.raises(PublicationConflictError):
        one.publish()
    assert postgres.sql("SELECT id FROM sales") == [("1",)]


@pytest.mark.parametrize("settings", [{"mode": "append"}, {"mode": "merge", "keys": ("id",)}])
def test_concurrent_appends_are_both_kept(
    settings: dict[str, Any], sinks: Sinks, postgres: Postgres, spark: SparkSession
) -> None:
    postgres.sql("CREATE TABLE sales (id BIGINT)")
    sales = jdbc(postgres, "sales")
    one = sinks.prepare(sales, spark.range(0, 1), run="r1", **settings)
    sinks.write(sales, spark.range(1, 2), run="r2", **settings)
    one.publish()
    assert postgres.sql("SELECT id FROM sales ORDER BY id") == [("0",), ("1",)]
    assert tables(postgres) == ["sales"]


def test_a_spark_task_that_ran_twice_is_noticed(
    sinks: Sinks, postgres: Postgres, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Database.count
    monkeypatch.setattr(Database, "count", lambda self, table: real(self, table) + 1)
    with pytest.raises(PublicationConflictError, match="holds 3 rows, but 2 were sent"):
        sinks.write(jdbc(postgres, "sales"), spark.range(2), mode="append")


def test_error_if_exists_refuses_a_foreign_table_and_accepts_its_own(
    sinks: Sinks, postgres: Postgres, spark: SparkSession
) -> None:
    sales = jdbc(postgres, "sales")
    sinks.write(sales, spark.range(2), run="r1", mode="error-if-exists")
    sinks.write(sales, spark.range(3), run="r1", mode="error-if-exists")
    assert postgres.sql("SELECT count(*) FROM sales") == [("3",)]
    with pytest.raises(PublicationError, match="its target sales exists"):
        sinks.open(sales, run="r2", mode="error-if-exists")


def test_error_if_exists_rerun_keeps_rows_that_others_added(
    sinks: Sinks, postgres: Postgres, spark: SparkSession
) -> None:
    sales = jdbc(postgres, "sales")
    sinks.write(sales, spark.range(2), run="r1", mode="error-if-exists")
    postgres.sql("INSERT INTO sales VALUES (77)")
    with pytest.raises(PublicationError, match="holds 3 rows, but this run left 2"):
        sinks.write(sales, spark.range(3), run="r1", mode="error-if-exists")
    assert postgres.sql("SELECT id FROM sales ORDER BY id") == [("0",), ("1",), ("77",)]


def test_error_if_exists_rerun_keeps_equally_many_rows_of_another_run(
    sinks: Sinks, postgres: Postgres, spark: SparkSession
) -> None:
    sales = jdbc(postgres, "sales")
    sinks.write(sales, spark.range(2), run="r1", mode="error-if-exists")
    sinks.write(sales, spark.range(7, 9), run="r2", mode="overwrite")
    with pytest.raises(PublicationError, match="others have published to its target sales"):
        sinks.write(sales, spark.range(2), run="r1", mode="error-if-exists")
    assert postgres.sql("SELECT id FROM sales ORDER BY id") == [("7",), ("8",)]


def test_error_if_exists_rerun_is_possible_after_others_have_added_nothing(
    sinks: Sinks, postgres: Postgres, spark: SparkSession
) -> None:
    sales = jdbc(postgres, "sales")
    sinks.write(sales, spark.range(1), run="r2", mode="append")
    sinks.write(sales, spark.range(2), run="r1", mode="overwrite")
    sinks.write(sales, spark.range(1), run="r2", mode="append")  # a run appends once
    sinks.write(sales, spark.range(3), run="r1", mode="error-if-exists")
    assert postgres.sql("SELECT id FROM sales ORDER BY id") == [("0",), ("1",), ("2",)]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT 1 AS id, 2 AS more", "column 'more' was added"),
        ("SELECT 1L AS id", "column 'id' was widened: found BIGINT; expected INT"),
        ("SELECT 1 AS x", "column 'id' was renamed: found 'x' INT"),
    ],
)
def test_columns_the_table_does_not_have_are_refused_even_when_it_evolves(
    query: str, words: str, sinks: Sinks, postgres: Postgres
) -> None:
    postgres.sql("CREATE TABLE sales (id INT)")
    evolving = jdbc(postgres, "sales", on_schema_change="evolve")
    with pytest.raises(SchemaChangedError, match=words):
        sinks.write(evolving, query, mode="append")
    with pytest.raises(SchemaChangedError, match=words):
        sinks.write(evolving, query, run="r2", mode="merge", keys=("id",))
    assert postgres.sql("SELECT count(*) FROM sales") == [("0",)]


def test_the_hint_for_a_new_column_leads_to_all_its_values(sinks: Sinks, postgres: Postgres) -> None:
    postgres.sql("CREATE TABLE sales (id INT)")
    sales, query = jdbc(postgres, "sales"), "SELECT 1 AS id, 2 AS more"
    with pytest.raises(SchemaChangedError, match="ALTER TABLE … ADD COLUMN") as refusal:
        sinks.write(sales, query, mode="append")
    hints = [line for line in str(refusal.value).splitlines() if "hint:" in line]
    assert hints[0].startswith("  hint: a table is never altered here: add more to it")
    postgres.sql("ALTER TABLE sales ADD COLUMN more INT")
    sinks.write(sales, query, run="r2", mode="append")
    assert postgres.sql("SELECT * FROM sales") == [("1", "2")]


def test_small_integers_fit_wider_database_types(sinks: Sinks, postgres: Postgres) -> None:
    sales = jdbc(postgres, "sales")
    sinks.write(sales, "SELECT 1Y AS tiny, 2 AS n", mode="append")
    sinks.write(sales, "SELECT 3Y AS tiny, 4 AS n", run="r2", mode="append")
    evolving = jdbc(postgres, "sales", on_schema_change="evolve")
    sinks.write(evolving, "SELECT 5Y AS tiny, 6S AS n", run="r3", mode="append")
    assert postgres.sql("SELECT * FROM sales ORDER BY n") == [("1", "2"), ("3", "4"), ("5", "6")]


@pytest.mark.ci
@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_column_that_would_round_or_cut_a_value_fails(mode: str, sinks: Sinks, postgres: Postgres) -> None:
    postgres.sql(
        "CREATE TABLE stays (a TIMESTAMP(0), b TIMESTAMPTZ(3), c TIME(0), d VARCHAR(3), e INT, f NUMERIC(5, 1));"
        "INSERT INTO stays (d) VALUES ('old')"
    )
    lost = {
        "a": ("TIMESTAMP'2024-01-05 10:00:00.6'", r"'a' is TIMESTAMP\(0\) in the database"),
        "b": ("TIMESTAMP'2024-01-05 10:00:00.1234'", r"'b' is TIMESTAMP\(3\) in the database"),
        "c": ("TIMESTAMP'1970-01-01 10:00:00.6'", r"'c' is TIME\(0\) in the database"),
        " c": ("TIMESTAMP'2024-01-05 10:00:00'", "'c' is TIME in the database"),
        "d": ("'abc '", r"'d' is VARCHAR\(3\) in the database"),
        "e": ("1.5D", "does not fit INT"),
        " e": ("3000000000", "CAST_OVERFLOW"),
        "f": ("CAST(1.25 AS DECIMAL(5, 2))", r"does not fit DECIMAL\(5,1\)"),
    }
    stays = jdbc(postgres, "stays", on_schema_change="ignore")
    for column, (value, message) in lost.items():
        with pytest.raises(Exception, match=message):
            sinks.write(stays, f"SELECT {value} AS {column.strip()}", mode=mode)
    assert postgres.sql("SELECT d FROM stays") == [("old",)]


FAR = "days before year 1, or after year 9999, in arrays in 1 row"
SENT_AS_ANOTHER = {
    "bytes": ("CAST(X'4DFC' AS STRING)", "bytes that are not UTF-8 in 1 row"),
    "bytes in a list": ("array('a', CAST(X'FF' AS STRING))", "bytes that are not UTF-8 in 1 row"),
    "a day": ("DATE '1582-10-10'", "dates from 1582-10-05 to 1582-10-14 in 1 row"),
    "a day in a list": ("array(DATE '1582-10-05')", "dates from 1582-10-05 to 1582-10-14 in 1 row"),
    "a time": ("TIMESTAMP '1582-10-14 23:59:59.999999'", "times from 1582-10-05 to 1582-10-14 in 1 row"),
    "a far year": ("array(DATE '+11999-12-31')", FAR),
    "a year of another era": ("array(array(DATE '0000-12-31'))", FAR),
    "a local time of another era": ("array(TIMESTAMP_NTZ '0000-12-31 23:59:59.999999')", FAR),
    "a local time": ("TIMESTAMP_NTZ '1582-10-05 00:00:00'", "times from 1582-10-05 to 1582-10-14 in 1 row"),
}


@pytest.mark.parametrize("case", SENT_AS_ANOTHER)
@pytest.mark.parametrize("mode", ["overwrite", "merge"])
def test_a_value_that_spark_sends_as_another_one_is_refused_before_publishing(
    case: str, mode: str, sinks: Sinks, postgres: Postgres
) -> None:
    value, words = SENT_AS_ANOTHER[case]
    settings: dict[str, Any] = {"mode": mode, "keys": ("id",)} if mode == "merge" else {"mode": mode}
    with pytest.raises(PublicationError, match=f"made cannot hold what it would write\n  column 'v' has {words}"):
        sinks.write(jdbc(postgres, "made"), f"SELECT 1 AS id, {value} AS v", **settings)
    assert "made" not in tables(postgres)


def test_values_that_spark_sends_as_they_are(sinks: Sinks, postgres: Postgres, spark: SparkSession) -> None:
    days = ["0001-01-01", "1582-10-04", "1582-10-15", "9999-12-31"]
    rows = spark.sql(
        " UNION ALL ".join(
            f"SELECT {number} AS id, DATE '{day}' AS d, TIMESTAMP '{day} 23:59:59.999999' AS t,"
            f" TIMESTAMP_NTZ '{day} 23:59:59.999999' AS n, array('ä😀', NULL, '\\\\') AS l, -0.0D AS z,"
            f" array(DATE '{day}') AS ds, array(TIMESTAMP_NTZ '{day} 23:59:59.999999') AS ns"
            for number, day in enumerate(days)
        )
    )
    sinks.write(jdbc(postgres, "made"), rows)
    texts = postgres.sql("SELECT d, timezone('UTC', t), n, l, z, ds[1], ns[1] FROM made ORDER BY id")
    assert texts == [
        (day, time := f"{day} 23:59:59.999999", time, '{ä😀,NULL,"\\\\"}', "-0", day, time) for day in days
    ]


@pytest.mark.parametrize(
    ("types", "value", "message"),
    [
        ("price DECIMAL(10,0)", "CAST(1.55 AS DECIMAL(10,2))", r"makes column 'price' DECIMAL\(10,0\)"),
        ("price INT", "1.55D", "makes column 'price' INT"),
        ("PRICE VARCHAR(3)", "'abc '", r"'price' is VARCHAR\(3\) in the database"),
        ("price CHAR(3)", "'abc'", r"makes column 'price' CHAR\(3\)"),
    ],
)
def test_declared_types_of_a_new_table_change_no_value(
    types: str, value: str, message: str, sinks: Sinks, postgres: Postgres
) -> None:
    made = jdbc(postgres, "made", options={"createTableColumnTypes": types})
    with pytest.raises(Exception, match=message):
        sinks.write(made, f"SELECT 1 AS id, {value} AS price")
    assert postgres.sql("SELECT to_regclass('made') IS NULL") == [("t",)]


def test_declared_types_of_a_new_table_may_limit_texts(sinks: Sinks, postgres: Postgres) -> None:
    types = "name VARCHAR(3), id INT"
    sinks.write(jdbc(postgres, "made", options={"createTableColumnTypes": types}), "SELECT 1 AS id, 'abc' AS name")
    assert postgres.sql("SELECT * FROM made") == [("1", "abc")]


@pytest.mark.parametrize(
    ("type", "value", "message"),
    [
        ("VARCHAR(3)", "'much too long'", "column 'k' is VARCHAR(3) in the database, in table stays"),
        ("CHAR(3)", "'much too long'", "column 'k' is CHAR(3) in the database, in table stays"),
        ("VARCHAR(3)", f"'{'x' * 5000}'", f"and cannot hold {'x' * 100}"),
        ("INT CHECK (k > 0)", "-1", "does not take the rows: "),
        ("INT NOT NULL", "NULLIF(1, 1)", "does not take the rows: "),
    ],
)
def test_what_a_column_never_takes_is_not_tried_again(
    type: str, value: str, message: str, sinks: Sinks, postgres: Postgres
) -> None:
    postgres.sql(f"CREATE TABLE stays (k {type})")
    with pytest.raises(Exception) as raised:  # noqa: PT011  # of Spark or ours; the type of failure counts
        sinks.write(jdbc(postgres, "stays"), f"SELECT {value} AS k", mode="append")
    cause = read_cause(raised.value)
    assert throwable_type(raised.value, cause) is ThrowableType.NON_RECOVERABLE_ERROR
    assert message in f"{raised.value}{cause.message}{cause.chain}"
    assert postgres.sql("SELECT count(*) FROM stays") == [("0",)]


def test_blanks_at_the_end_of_a_char_are_no_error(sinks: Sinks, postgres: Postgres) -> None:
    postgres.sql("CREATE TABLE stays (k CHAR(3))")
    sinks.write(jdbc(postgres, "stays"), "SELECT 'ab    ' AS k", mode="append")
    assert postgres.sql("SELECT k FROM stays") == [("ab ",)]


def test_values_that_a_column_holds_are_written(sinks: Sinks, postgres: Postgres) -> None:
    postgres.sql("CREATE TABLE stays (a TIMESTAMP(0), b TIMESTAMPTZ(3), c TIME(1), d VARCHAR(3))")
    query = (
        "SELECT TIMESTAMP'1969-01-05 10:00:01' AS a, TIMESTAMP'2024-01-05 10:00:00.123' AS b,"
        " TIMESTAMP'1970-01-01 10:00:00.6' AS c, 'äöü' AS d"
    )
    sinks.write(jdbc(postgres, "stays"), f"{query} UNION ALL SELECT NULL, NULL, NULL, NULL", mode="append")
    assert sorted(postgres.sql("SELECT * FROM stays")) == [
        ("", "", "", ""),
        ("1969-01-05 10:00:01", "2024-01-05 10:00:00.123+00", "10:00:00.6", "äöü"),
    ]


def test_a_type_the_database_does_not_have_names_its_column(sinks: Sinks, postgres: Postgres) -> None:
    with pytest.raises(PublicationError, match="column 'm' is MAP<STRING,INT>"):
        sinks.write(jdbc(postgres, "sales"), "SELECT map('a', 1) AS m, array(1) AS l")
    assert tables(postgres) == []


def test_a_failing_sink_drops_the_table_it_created(run_pipeline: RunPipeline, postgres: Postgres) -> None:
    env = StreamExecutionEnvironment("p")
    numbers = env.from_source(Range(0, 3), "numbers")
    numbers.sink_to(jdbc(postgres, "good")).name("good")
    numbers.select(x="1 / id").name("divided").sink_to(jdbc(postgres, "bad")).name("bad")
    failure = run_pipeline(env.pipeline())[-1].failure
    assert failure is not None
    assert failure.operator == "divided"
    assert "while writing 'bad'" in failure.message
    assert tables(postgres) == []


def test_empty_results_are_written_and_counted(run_pipeline: RunPipeline, postgres: Postgres) -> None:
    env = StreamExecutionEnvironment("p")
    none = env.from_source(Range(0, 3), "numbers").filter("false")
    none.sink_to(jdbc(postgres, "none")).name("none")
    report = run_pipeline(env.pipeline())[-1]
    assert report.failure is None, report.failure
    assert [output.rows for output in report.outputs] == [0]


def test_neither_plan_nor_explain_holds_a_secret_in_any_option(
    postgres: Postgres, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    from graph_compiler.compiler.pipeline_compiler import compile_pipeline
    from graph_compiler.deployment.describe.region_descriptors import describe_regions
    from graph_compiler.spark_runtime.secret_values import hide_options, reveal_all

    app = Secret("warehouse", "app")
    monkeypatch.setenv(app.variable, "canary-9d1f")
    source = jdbc(postgres, "pg_class", options={"ApplicationName": app, "token": app})
    env = StreamExecutionEnvironment("p")
    env.from_source(source, "in").sink_to(jdbc(postgres, "out"))
    (region,) = describe_regions(compile_pipeline(env.pipeline()))
    hide_options(spark, region)
    rows = spark.range(1)
    options = reveal_all(source.connection_properties())
    writer = rows.write.format("jdbc").options(url=postgres.url, dbtable="out", **options)
    spark.conf.set("spark.sql.ui.explainMode", "extended")
    try:
        events = queries_said(spark, writer.save)
    finally:
        spark.conf.unset("spark.sql.ui.explainMode")
        spark.conf.unset("spark.sql.redaction.options.regex")
    assert "applicationname" in events.lower()
    assert "canary-9d1f" not in events
    assert postgres.password not in events


def queries_said(spark: SparkSession, action: Any) -> str:
    """Return all that Spark's event log would hold of the queries an action runs."""
    before = executions(spark)
    action()
    return "\n".join(
        f"{one.physicalPlanDescription()} {one.details()} {one.modifiedConfigs()}"
        for one in executions_since(spark, before)
    )


def orders_copy(orders: Jdbc) -> Jdbc:
    return orders.with_texts({"table": "orders_copy"})


def tables(server: Postgres) -> list[str]:
    return [
        row[0]
        for row in server.sql(
            f"SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> '{MARKS}' ORDER BY 1"
        )
    ]


NUMBERS = {
    "more places than Spark keeps": ("NUMERIC", "0.1234567890123456789", "DECIMAL(38,18)"),
    "a large number without a scale": ("NUMERIC", "1e30", "DECIMAL(38,18)"),
    "more digits than a DECIMAL": ("NUMERIC(50, 10)", "12345678901234567890123456789012345678.5", "DECIMAL(38,0)"),
    "more digits, most of them places": ("NUMERIC(40, 30)", "1.123456789012345678901234567891", "DECIMAL(38,28)"),
    "no number": ("NUMERIC", "NaN", "DECIMAL(38,18)"),
}


@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_that_spark_would_round_fails_the_task_and_is_read_as_the_hint_says(
    number: str, postgres: Postgres, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    type, text, words = NUMBERS[number]
    postgres.sql(f"CREATE TABLE rates (id INT, \"a b\" {type}); INSERT INTO rates VALUES (1, '{text}')")

    def read_with(source: Jdbc) -> ExecutionReport:
        env = StreamExecutionEnvironment("rates")
        env.from_source(source, "rates").sink_to(Parquet(f"{tmp_path}/out")).name("out")
        return run_pipeline(env.pipeline())[-1]

    failure = read_with(jdbc(postgres, "rates")).failure
    assert failure is not None
    assert failure.throwable_type is ThrowableType.NON_RECOVERABLE_ERROR
    assert "column 'a b' has the number " in failure.message
    assert f", which {words} does not hold" in failure.message
    assert "hint: in query=, cast a b to a NUMERIC with the digits that it needs, or to a text" in failure.message
    query = replace(jdbc(postgres, "rates"), table=None, query='SELECT id, CAST("a b" AS TEXT) AS v FROM rates')
    assert read_with(query).failure is None
    (row,) = pyarrow.parquet.read_table(tmp_path / "out").to_pylist()
    assert row["v"] == postgres.sql('SELECT "a b" FROM rates')[0][0]


def test_numbers_that_fit_are_read_with_all_digits(postgres: Postgres, spark: SparkSession) -> None:
    postgres.sql(
        "CREATE TABLE rates (a NUMERIC, b NUMERIC(38, 10), c NUMERIC(10, 2), d NUMERIC(39, 0), id INT);"
        "INSERT INTO rates VALUES (0.123456789012345678, 1234567890123456789012345678.0123456789, 1.50, 7, 1),"
        "(1e3, -1e-10, NULL, NULL, 2), (NULL, NULL, 0, -1, 3)"
    )
    source = jdbc(postgres, "rates", partition_column="id", lower_bound=0, upper_bound=4, num_partitions=2)
    rows = read_source(source, spark)
    assert [field.dataType.simpleString() for field in rows.schema] == [
        *("decimal(38,18)", "decimal(38,10)", "decimal(10,2)", "decimal(38,0)", "int")
    ]
    found = {row["id"]: tuple(row[:4]) for row in rows.where("a IS NULL OR a > 0").collect()}
    large = Decimal("1234567890123456789012345678.0123456789")
    assert found == {
        1: (Decimal("0.123456789012345678"), large, Decimal("1.50"), 7),
        2: (1000, Decimal("-1E-10"), None, None),
        3: (None, None, 0, -1),
    }


@pytest.mark.parametrize("first", ["{}", None, "{a,b}"])
def test_texts_of_arrays_with_more_dimensions_are_no_names_of_java_s_objects(
    first: str | None, postgres: Postgres, spark: SparkSession
) -> None:
    value = "NULL" if first is None else f"'{first}'"
    postgres.sql(
        f"CREATE TABLE notes (id INT, words TEXT[]); INSERT INTO notes VALUES (1, {value});"
        "INSERT INTO notes VALUES (2, '{{a,b},{c,d}}')"
    )
    notes = jdbc(postgres, "notes")
    with pytest.raises(Exception, match=r"'words' has an array of more dimensions than ARRAY<STRING>"):
        read_source(notes, spark).collect()
    query = replace(notes, table=None, query="SELECT id, to_jsonb(words) AS words FROM notes")
    texts = {row["id"]: row["words"] for row in read_source(query, spark).collect()}
    assert texts[2] == '[["a", "b"], ["c", "d"]]'


def test_arrays_of_texts_are_read_as_they_are(postgres: Postgres, spark: SparkSession) -> None:
    postgres.sql(
        "CREATE TABLE notes (id INT, one TEXT[], two TEXT[][]);"
        "INSERT INTO notes VALUES (1, '{a,NULL,\"[Ljava\"}', '{{a},{b}}'), (2, NULL, NULL), (3, '{}', '{}')"
    )
    found = {row["id"]: (row["one"], row["two"]) for row in read_source(jdbc(postgres, "notes"), spark).collect()}
    assert found == {1: (["a", None, "[Ljava"], [["a"], ["b"]]), 2: (None, None), 3: ([], [])}


def test_times_in_a_prepared_session_are_compared_with_times_in_utc(postgres: Postgres, spark: SparkSession) -> None:
    postgres.sql(
        "CREATE TABLE held (v TIMESTAMPTZ);"
        "INSERT INTO held VALUES ('2024-06-30 22:30:00+00'), ('2024-07-01 00:00:00+00')"
    )
    vienna = jdbc(postgres, "held", options={"sessionInitStatement": "SET TIME ZONE 'Europe/Vienna'"})
    assert read_source(vienna, spark).where("v >= TIMESTAMP '2024-07-01 00:00:00Z'").count() == 1


@pytest.mark.parametrize(
    ("kind", "column", "words"),
    [
        ("oracle", "v DOUBLE", "column 'v' is DOUBLE, and would be NUMBER(19, 4)"),
        ("sqlserver", "v TIMESTAMP", "column 'v' is TIMESTAMP, and would be DATETIME"),
        ("mysql", "v TIMESTAMP_NTZ", "column 'v' is TIMESTAMP_NTZ, and would be DATETIME"),
        ("mariadb", "v TIMESTAMP", "column 'v' is TIMESTAMP, and would be TIMESTAMP"),
        ("postgresql", "v TIMESTAMP", None),
        ("oracle", "v DECIMAL(19, 4)", None),
    ],
)
def test_a_table_is_not_created_with_columns_that_round(
    kind: str, column: str, words: str | None, spark: SparkSession
) -> None:
    """As Spark's dialects say: there are no such servers here."""
    field = parse_schema(column)[0]
    types = {field: jdbc_type(spark, f"jdbc:{kind}://db", field.dataType)}
    with pytest.raises(PublicationError, match=re.escape(words)) if words else nullcontext():
        _refuse_rounding("rates", types, kind)


CONDITIONS = {
    "real": ("REAL", ["0.7", "0.1", "NaN"], "v >= CAST(0.7 AS FLOAT)"),
    "real in a list": ("REAL", ["0.7", "0.1"], "v IN (CAST(0.7 AS FLOAT), CAST(7 AS FLOAT))"),
    "enum": ("size", ["low", "medium", "high"], "v < 'medium'"),
    "jsonb": ("JSONB", ['{"a": 1}'], "v = '{\"a\":1}'"),
    "uuid": ("UUID", ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"], "v = 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'"),
    "interval": ("INTERVAL", ["1 day", "24:00:00"], "v = '1 day'"),
    "inet": ("INET", ["10.0.0.1"], "v LIKE '10.%'"),
}


@pytest.mark.parametrize("case", CONDITIONS)
def test_a_condition_finds_in_a_database_what_it_finds_in_spark(
    case: str, postgres: Postgres, spark: SparkSession
) -> None:
    kind, values, condition = CONDITIONS[case]
    rows = ", ".join(f"('{value}')" for value in values)
    postgres.sql("CREATE TYPE size AS ENUM ('low', 'medium', 'high')")
    postgres.sql(f"CREATE TABLE held (v {kind}); INSERT INTO held VALUES {rows}")
    source = jdbc(postgres, "held")
    found = read_source(source, spark).where(condition).collect()
    not_sent = read_source(replace(source, options={"pushDownPredicate": "false"}), spark)
    assert str(found) == str(not_sent.where(condition).collect())


def test_types_that_a_source_chooses_itself_are_spark_s(postgres: Postgres, spark: SparkSession) -> None:
    postgres.sql("CREATE TABLE rates (a NUMERIC); INSERT INTO rates VALUES (0.1234567890123456789)")
    source = jdbc(postgres, "rates", options={"customSchema": "a DECIMAL(38, 20)"})
    assert [str(row["a"]) for row in read_source(source, spark).collect()] == ["0.12345678901234567890"]
