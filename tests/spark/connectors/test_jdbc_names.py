"""Which table a name means: the database decides, and all spellings of a table are one target."""

from dataclasses import fields, replace
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from graph_compiler import Jdbc, Range, StreamExecutionEnvironment
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.errors import PublicationError
from graph_compiler.spark_runtime.connectors import read_source
from graph_compiler.spark_runtime.connectors.database import Database
from graph_compiler.spark_runtime.connectors.databases import carrying
from graph_compiler.spark_runtime.connectors.databases.carrying import TablePublication
from graph_compiler.spark_runtime.connectors.databases.resolving import is_there, resolve
from graph_compiler.spark_runtime.connectors.databases.sql_errors import sql_state
from graph_compiler.spark_runtime.connectors.jdbc_sink import JdbcSink
from graph_compiler.staging.store.local_store import LocalStore
from tests.harness.postgres import Postgres
from tests.harness.sinks import Sinks
from tests.spark.conftest import RunPipeline
from tests.spark.connectors.test_jdbc import jdbc, tables

pytestmark = [pytest.mark.spark, pytest.mark.ci]


@pytest.fixture
def postgres(postgres: Postgres) -> Postgres:
    postgres.sql("DROP SCHEMA IF EXISTS app CASCADE")
    return postgres


@pytest.mark.parametrize("exists", [True, False])
@pytest.mark.parametrize(
    "spelling", ["orders", "Orders", '"orders"', "public.orders", '"public"."orders"', "postgres.public.orders"]
)
def test_all_spellings_of_a_table_are_one_place(
    spelling: str, exists: bool, postgres: Postgres, spark: SparkSession
) -> None:
    if exists:
        postgres.sql("CREATE TABLE orders (id BIGINT)")
    found = resolve(Database(spark=spark, connector=jdbc(postgres, spelling)))
    assert (found.name, found.exists) == ('"public"."orders"', exists)
    where = f"jdbc:postgresql://127.0.0.1:{postgres.port}/postgres"
    assert found.place == f'"postgres"."public"."orders" in {where}'


def test_two_sinks_that_spell_one_table_differently_are_refused_before_any_row_moves(
    postgres: Postgres, run_pipeline: RunPipeline
) -> None:
    postgres.sql("CREATE TABLE orders (id BIGINT); INSERT INTO orders VALUES (7)")
    env = StreamExecutionEnvironment("p")
    numbers = env.from_source(Range(0, 3), "numbers")
    numbers.sink_to(jdbc(postgres, "orders")).name("one")
    numbers.sink_to(jdbc(postgres, "public.orders")).name("two")
    failure = run_pipeline(env.pipeline())[-1].failure
    assert failure is not None
    assert "is also written by 'one'" in failure.message
    assert postgres.sql("SELECT id FROM orders") == [("7",)]


def test_a_table_of_another_schema_on_the_search_path_is_the_one_that_is_written(
    sinks: Sinks, postgres: Postgres
) -> None:
    postgres.sql("CREATE SCHEMA app; CREATE TABLE app.orders (id BIGINT)")
    table = replace(jdbc(postgres, "orders"), url=f"{postgres.url}?currentSchema=public,app")
    sinks.write(table, "SELECT 1L AS id", mode="append")
    sinks.write(jdbc(postgres, "app.orders"), "SELECT 1L AS id", mode="append")  # of the same run
    assert postgres.sql("SELECT id FROM app.orders") == [("1",)]
    assert tables(postgres) == []


@pytest.mark.parametrize("mode", ["append", "overwrite", "merge"])
@pytest.mark.parametrize(
    ("table", "column"),
    [('"My ""Orders"""', 'the "id"'), ('"SELECT"', "ORDER"), ('"a.b"', "a.b"), (f'"{"x" * 63}"', "ID")],
)
def test_quoted_names_can_be_written_repeatedly(
    table: str, column: str, mode: str, sinks: Sinks, postgres: Postgres
) -> None:
    settings: dict[str, Any] = {"mode": mode, "keys": (column,) if mode == "merge" else ()}
    query = f"SELECT 1L AS `{column}`, 'v' AS `user`"
    for run in ("r1", "r2"):
        sinks.write(jdbc(postgres, table), query, run=run, **settings)
    assert postgres.sql(f"SELECT count(*) FROM {table}") == [("2" if mode == "append" else "1",)]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (f"x{'y' * 63}", "a name of 64 bytes, but the database keeps only 63 of them"),
        ("graph_compiler_publications", "a table that graph-compiler keeps for itself"),
        ("orders_id_seq", "is not a table"),
        ("(SELECT 1) t", "is not the name of a table|syntax error|invalid name syntax"),
    ],
)
def test_unwritable_relations_are_refused(table: str, words: str, sinks: Sinks, postgres: Postgres) -> None:
    postgres.sql("CREATE TABLE orders (id BIGSERIAL)")
    with pytest.raises(Exception, match=words):
        sinks.open(jdbc(postgres, table))


def test_views_and_partitioned_tables_take_rows(sinks: Sinks, postgres: Postgres) -> None:
    postgres.sql(
        "CREATE TABLE parts (id BIGINT) PARTITION BY RANGE (id);"
        "CREATE TABLE small PARTITION OF parts FOR VALUES FROM (0) TO (10);"
        "CREATE TABLE large PARTITION OF parts FOR VALUES FROM (10) TO (20);"
        "CREATE VIEW seen AS SELECT id FROM parts"
    )
    for run, table in (("r1", "parts"), ("r2", "seen")):
        sinks.write(jdbc(postgres, table), "SELECT id FROM range(9, 11)", run=run, mode="append")
    assert postgres.sql("SELECT count(*) FROM small") == [("2",)]
    assert postgres.sql("SELECT count(*) FROM large") == [("2",)]


def test_a_source_reads_the_table_its_name_means(postgres: Postgres, spark: SparkSession) -> None:
    postgres.sql('CREATE TABLE "user" AS SELECT 1 AS id; CREATE TABLE "User" AS SELECT 2 AS id')
    read = [
        read_source(jdbc(postgres, table), spark).collect()[0][0]
        for table in ("user", "USER", 'public."User"', "(SELECT 3 AS id) t")
    ]
    assert read == [1, 1, 2, 3]


def test_intents_with_unresolved_table_names_are_finished_under_their_key(sinks: Sinks, postgres: Postgres) -> None:
    postgres.sql("CREATE TABLE sales (id BIGINT); CREATE TABLE graph_compiler_old AS SELECT 1::BIGINT AS id")
    table = jdbc(postgres, "sales")
    opened = sinks.open(table, run="r1", mode="append")
    assert isinstance(opened, JdbcSink)
    new = opened.publication
    common = {field.name: getattr(new, field.name) for field in fields(TablePublication)}
    old = TablePublication(
        **common
        | {
            "target": f"jdbc:{table.place}",
            "table": "sales",
            "staged": "graph_compiler_old",
            "columns": ("id",),
            "rows": 1,
        }
    )
    LocalStore().put_if_absent(opened.ledger.layout.intent(old.target, 0), to_json(old).encode())
    assert sinks.write(table, "SELECT 5L AS id", run="r1", mode="append").rows == 1
    assert postgres.sql("SELECT id FROM sales") == [("1",)]
    assert tables(postgres) == ["sales"]


def test_other_databases_are_asked_through_their_catalog(spark: SparkSession) -> None:
    url = "jdbc:derby:memory:names;create=true"
    spark.range(1).write.jdbc(url, '"odd_name%"', mode="overwrite")
    spark.range(1).write.jdbc(url, "orders", mode="overwrite")
    orders = Database(spark=spark, connector=Jdbc(url, table="orders"))
    assert resolve(orders).exists
    assert resolve(orders).place == resolve(replace_table(orders, "APP.ORDERS")).place
    assert is_there(orders, '"odd_name%"')
    assert not is_there(orders, '"odd1name%"')
    assert not resolve(replace_table(orders, "nothing")).exists
    with pytest.raises(PublicationError, match="keeps for itself"):
        resolve(replace_table(orders, "graph_compiler_publications"))


def test_an_error_of_a_database_is_not_taken_for_a_missing_table(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders = Database(spark=spark, connector=Jdbc("jdbc:derby:memory:errors;create=true", table="orders"))
    assert not resolve(orders).exists
    monkeypatch.setattr(Database, "exists_query", lambda *_: "nonsense")
    with pytest.raises(Py4JJavaError) as failure:
        resolve(orders)
    assert sql_state(failure.value) == "42X01"


def replace_table(database: Database, table: str) -> Database:
    return replace(database, connector=replace(database.connector, table=table))


@pytest.mark.parametrize("mode", ["append", "overwrite", "merge"])
@pytest.mark.parametrize("is_new", [True, False])
def test_rows_and_mark_are_atomic_where_ddl_commits_implicitly(
    is_new: bool, mode: str, sinks: Sinks, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Database, "keeps_definitions_in_transactions", False)
    if not is_new:
        postgres.sql("CREATE TABLE sales (id BIGINT)")
    settings: dict[str, Any] = {"mode": mode, "keys": ("id",) if mode == "merge" else ()}
    prepared = sinks.prepare(jdbc(postgres, "sales"), sinks.spark.range(1, 3), run="r1", **settings)

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(carrying, "drop_staged", dies)
        with pytest.raises(KeyboardInterrupt):
            prepared.publish()
    sinks.write(jdbc(postgres, "sales"), sinks.spark.range(1, 3), run="r1", **settings)
    assert postgres.sql("SELECT id FROM sales ORDER BY id") == [("1",), ("2",)]
