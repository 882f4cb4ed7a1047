"""A database that is reset, slow, locked, restarted or refuses, at every step of a publication."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from graph_compiler import Jdbc
from graph_compiler.errors import PublicationConflictError, PublicationError
from graph_compiler.spark_runtime.connectors import PreparedSink
from graph_compiler.spark_runtime.connectors.database import Database
from graph_compiler.spark_runtime.connectors.databases.carrying import MARKS, Marks
from graph_compiler.spark_runtime.connectors.databases.sql_errors import (
    database_words,
    is_refusal,
    refuses_rows,
    sql_state,
)
from tests.harness.broken_wire import Wire, broken_wire
from tests.harness.postgres import Postgres
from tests.harness.sinks import Sinks
from tests.spark.connectors.test_jdbc import jdbc, tables

pytestmark = [pytest.mark.spark, pytest.mark.ci]


@pytest.fixture
def wire(postgres: Postgres) -> Iterator[Wire]:
    with broken_wire(postgres.port) as wire:
        yield wire


def over(wire: Wire, postgres: Postgres, table: str = "sales", parameters: str = "") -> Jdbc:
    url = f"jdbc:postgresql://127.0.0.1:{wire.port}/{postgres.database}{parameters}"
    return replace(jdbc(postgres, table), url=url)


def ids(postgres: Postgres, table: str = "sales") -> list[str]:
    return [row[0] for row in postgres.sql(f"SELECT id FROM {table} ORDER BY id")]


def publish_until_it_works(
    sinks: Sinks, prepared: PreparedSink, table: Jdbc, spark: SparkSession, **settings: Any
) -> bool:
    """Publish; if that fails, try the same run again, like a retry or a clear; return whether it failed."""
    try:
        prepared.publish()
    except Py4JJavaError:
        sinks.write(table, spark.range(1, 3), run="r1", **settings)
        return True
    return False


@pytest.mark.parametrize("cut", [b"to_regclass", b"SELECT outcome", b"INSERT INTO", b"COMMIT"])
@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_reset_at_any_statement_of_a_publication_loses_and_doubles_nothing(
    mode: str, cut: bytes, sinks: Sinks, postgres: Postgres, wire: Wire, spark: SparkSession
) -> None:
    postgres.sql("CREATE TABLE sales (id BIGINT); INSERT INTO sales VALUES (0)")
    table = over(wire, postgres)
    prepared = sinks.prepare(table, spark.range(1, 3), run="r1", mode=mode)
    wire.breaks(before=cut)
    assert publish_until_it_works(sinks, prepared, table, spark, mode=mode)
    assert wire.cuts == 1
    assert ids(postgres) == (["0", "1", "2"] if mode == "append" else ["1", "2"])
    assert tables(postgres) == ["sales"]


@pytest.mark.parametrize("mode", ["append", "overwrite", "merge", "error-if-exists"])
def test_a_lost_answer_to_commit_is_resolved_by_asking(
    mode: str, sinks: Sinks, postgres: Postgres, wire: Wire, spark: SparkSession
) -> None:
    table = over(wire, postgres)
    keys = ("id",) if mode == "merge" else ()
    prepared = sinks.prepare(table, spark.range(1, 3), run="r1", mode=mode, keys=keys)
    wire.breaks(behind=b"COMMIT")
    prepared.publish()
    assert wire.cuts == 1
    assert ids(postgres) == ["1", "2"]
    assert sinks.write(table, spark.range(1, 3), run="r1", mode=mode, keys=keys).rows == 2
    assert ids(postgres) == ["1", "2"]


def test_an_unresolved_lost_answer_is_resolved_by_the_next_attempt(
    sinks: Sinks, postgres: Postgres, wire: Wire, spark: SparkSession
) -> None:
    table = over(wire, postgres)
    prepared = sinks.prepare(table, spark.range(1, 3), run="r1", mode="append")
    wire.breaks(behind=b"COMMIT", before=b"SELECT outcome", times=3)
    with pytest.raises(Py4JJavaError):
        prepared.publish()
    wire.breaks(times=0)
    assert sinks.write(table, spark.range(1, 3), run="r1", mode="append").rows == 2
    assert ids(postgres) == ["1", "2"]


def test_a_locked_table_fails_the_attempt_and_the_next_publishes(
    sinks: Sinks, postgres: Postgres, wire: Wire, spark: SparkSession
) -> None:
    postgres.sql("CREATE TABLE sales (id BIGINT)")
    table = over(wire, postgres, parameters="?options=-c%20lock_timeout=200")
    prepared = sinks.prepare(table, spark.range(1, 3), run="r1", mode="append")
    other = Database(spark=spark, connector=jdbc(postgres, "sales"))
    with other.connection() as connection:
        connection.setAutoCommit(False)
        other.run(connection, "LOCK TABLE sales IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(Py4JJavaError) as failure:
            prepared.publish()
        assert sql_state(failure.value) == "55P03"
    assert sinks.write(table, spark.range(1, 3), run="r1", mode="append").rows == 2
    assert ids(postgres) == ["1", "2"]


def test_a_server_restart_after_the_decision_loses_no_rows(
    sinks: Sinks, postgres: Postgres, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = jdbc(postgres, "sales")
    prepared = sinks.prepare(table, spark.range(1, 3), run="r1", mode="append")
    real = Database.run

    def run(self: Database, connection: Any, sql: str) -> int:
        if sql.startswith("DROP TABLE"):
            monkeypatch.setattr(Database, "run", real)
            postgres.restart()
        return real(self, connection, sql)

    monkeypatch.setattr(Database, "run", run)
    with pytest.raises(Py4JJavaError):
        prepared.publish()
    assert sinks.write(table, spark.range(1, 3), run="r1", mode="append").rows == 2
    assert ids(postgres) == ["1", "2"]


def test_dropped_rows_are_lost_and_recomputed(
    sinks: Sinks, postgres: Postgres, wire: Wire, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    table = over(wire, postgres)
    prepared = sinks.prepare(table, spark.range(1, 3), run="r1", mode="append")
    wire.breaks(before=b"INSERT INTO")
    with pytest.raises(Py4JJavaError):
        prepared.publish()
    (staged,) = tables(postgres)
    postgres.sql(f"DROP TABLE {staged}")
    assert sinks.write(table, spark.range(1, 3), run="r1", mode="append").rows == 2
    assert ids(postgres) == ["1", "2"]
    assert "has no mark that they were published" in capsys.readouterr().err
    outcomes = postgres.sql(f"SELECT outcome FROM {MARKS} ORDER BY outcome")
    assert outcomes == [("given up",), ("published",)]


def test_carriers_of_one_decision_at_once_write_its_rows_once(
    sinks: Sinks, postgres: Postgres, wire: Wire, spark: SparkSession
) -> None:
    postgres.sql("CREATE TABLE sales (id BIGINT)")
    table = over(wire, postgres)
    prepared = sinks.prepare(table, spark.range(1, 3), run="r1", mode="append")
    wire.breaks(before=b"INSERT INTO")
    with pytest.raises(Py4JJavaError):
        prepared.publish()
    together(spark, lambda: sinks.open(table, run="r2", mode="append"), times=4)
    assert ids(postgres) == ["1", "2"]
    assert postgres.sql(f"SELECT outcome FROM {MARKS}") == [("published",)]


def test_drivers_can_create_the_mark_table_concurrently(postgres: Postgres, spark: SparkSession) -> None:
    marks = Marks(database=Database(spark=spark, connector=jdbc(postgres, "sales")), table=f"public.{MARKS}")
    together(spark, marks.make_ready, times=4)
    assert postgres.sql(f"SELECT * FROM {MARKS}") == []


def together(spark: SparkSession, action: Any, *, times: int) -> None:
    """Do the same in several threads at once; none of them may fail."""
    barrier: threading.Barrier = threading.Barrier(times)
    errors: list[Exception] = []
    jvm = spark._jvm
    assert jvm is not None
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()  # which has the driver

    def run() -> None:
        jvm.java.lang.Thread.currentThread().setContextClassLoader(loader)
        barrier.wait()
        try:
            action()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_a_driver_whose_publication_was_given_up_writes_nothing(
    sinks: Sinks, postgres: Postgres, wire: Wire, spark: SparkSession
) -> None:
    postgres.sql("CREATE TABLE sales (id BIGINT PRIMARY KEY); INSERT INTO sales VALUES (1)")
    table = over(wire, postgres)
    late = sinks.prepare(table, spark.range(1, 3), run="r1", mode="append")
    wire.breaks(before=b"INSERT INTO")
    with pytest.raises(Py4JJavaError):
        late.publish()
    sinks.open(table, run="r2", mode="append")  # finds the key there, and gives up
    postgres.sql("DELETE FROM sales")
    with pytest.raises(PublicationConflictError, match="has given up"):
        late.publish()
    assert ids(postgres) == []


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        ("CREATE VIEW sales AS SELECT 1::BIGINT AS id LIMIT 1", "cannot insert into view"),
        (
            "CREATE TABLE sales (id BIGINT); CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS "
            "'BEGIN RAISE EXCEPTION ''not today''; END'; "
            "CREATE TRIGGER no BEFORE INSERT ON sales FOR EACH ROW EXECUTE FUNCTION no()",
            "not today",
        ),
        ("CREATE TABLE sales (id BIGINT CHECK (id < 2))", "violates check constraint"),
        ("CREATE TABLE sales (id BIGINT) PARTITION BY RANGE (id)", "no partition of relation"),
    ],
)
def test_rejected_rows_are_given_up_and_do_not_block_others(
    definition: str, words: str, sinks: Sinks, postgres: Postgres, spark: SparkSession
) -> None:
    postgres.sql(definition)
    table = jdbc(postgres, "sales")
    with pytest.raises(PublicationError, match=f"does not take the rows: .*{words}") as refusal:
        sinks.write(table, spark.range(1, 3), mode="append")
    assert not isinstance(refusal.value, PublicationConflictError)
    assert [name for name in tables(postgres) if name.startswith("graph")] == []
    postgres.sql("DROP VIEW IF EXISTS sales" if "VIEW" in definition else "DROP TABLE sales")
    sinks.write(table, spark.range(1, 3), run="r2", mode="append")
    assert ids(postgres) == ["1", "2"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("DROP TABLE sales", "does not exist"),
        ("ALTER TABLE sales RENAME COLUMN id TO other", 'column "id"'),
        ("ALTER TABLE sales ALTER COLUMN id TYPE DATE USING NULL", "is of type date"),
    ],
)
def test_a_table_changed_between_check_and_publish_is_retried(
    change: str, words: str, sinks: Sinks, postgres: Postgres, spark: SparkSession
) -> None:
    postgres.sql("CREATE TABLE sales (id BIGINT)")
    prepared = sinks.prepare(jdbc(postgres, "sales"), spark.range(2), mode="append")
    postgres.sql(change)
    with pytest.raises(PublicationConflictError, match=f"was changed by others .*{words}"):
        prepared.publish()
    assert [name for name in tables(postgres) if name.startswith("graph")] == []


def test_a_table_replaced_by_an_equal_one_takes_the_rows(sinks: Sinks, postgres: Postgres, spark: SparkSession) -> None:
    postgres.sql("CREATE TABLE sales (id BIGINT)")
    prepared = sinks.prepare(jdbc(postgres, "sales"), spark.range(2), mode="append")
    postgres.sql("DROP TABLE sales; CREATE TABLE sales (id BIGINT)")
    prepared.publish()
    assert ids(postgres) == ["0", "1"]


@pytest.mark.parametrize(
    ("rights", "words"),
    [
        ("GRANT USAGE ON SCHEMA public TO other", "permission denied for schema public"),
        (
            f"GRANT ALL ON SCHEMA public TO other; CREATE TABLE {MARKS} (mark TEXT, outcome TEXT, "
            "target TEXT, pipeline TEXT, run_id TEXT, execution_id TEXT, marked_at TEXT)",
            f"permission denied for table {MARKS}",
        ),
    ],
)
def test_missing_privileges_are_reported_before_any_row_moves(
    rights: str, words: str, sinks: Sinks, postgres: Postgres
) -> None:
    postgres.sql("DROP ROLE IF EXISTS other")
    postgres.sql(f"CREATE ROLE other LOGIN PASSWORD '{postgres.password}'; {rights}")
    try:
        table = replace(jdbc(postgres, "sales"), user="other")
        with pytest.raises(PublicationError, match=words) as refusal:
            sinks.open(table, mode="append")
        assert f'hint: CREATE TABLE "public".{MARKS} (mark VARCHAR(64)' in str(refusal.value)
    finally:
        postgres.sql("DROP OWNED BY other; DROP ROLE other")


def test_a_read_only_database_fails_the_attempt_and_is_tried_again(sinks: Sinks, postgres: Postgres) -> None:
    url = f"{postgres.url}?options=-c%20default_transaction_read_only=on"
    with pytest.raises(Py4JJavaError) as failure:
        sinks.open(replace(jdbc(postgres, "sales"), url=url), mode="append")
    assert sql_state(failure.value) == "25006"
    assert not is_refusal(failure.value)


def test_a_sql_state_is_found_in_wrapped_exceptions(spark: SparkSession) -> None:
    jvm = spark._jvm
    assert jvm is not None
    cause = jvm.java.sql.SQLException("duplicate key", "23505")
    batch = jvm.java.sql.BatchUpdateException("batch entry 0 was aborted", None)
    batch.setNextException(cause)
    wrapped = jvm.org.apache.spark.SparkException("Job aborted", batch)
    error = raised(jvm, jvm.java.lang.RuntimeException("wrapped", wrapped))
    assert sql_state(error) == "23505"
    assert database_words(error) == "batch entry 0 was aborted\n  duplicate key"
    assert is_refusal(error)
    assert refuses_rows(error)


def test_the_error_of_a_source_that_is_read_meanwhile_is_no_refusal_of_rows(spark: SparkSession) -> None:
    jvm = spark._jvm
    assert jvm is not None
    cause = jvm.java.sql.SQLException("division by zero", "22012")
    error = raised(jvm, jvm.org.apache.spark.SparkException("Job aborted", cause))
    assert is_refusal(error)
    assert not refuses_rows(error)


def test_other_errors_have_no_sql_state(spark: SparkSession) -> None:
    jvm = spark._jvm
    assert jvm is not None
    error = raised(jvm, jvm.java.lang.RuntimeException("the disk is gone"))
    assert sql_state(error) == ""
    assert "the disk is gone" in database_words(error)
    assert not is_refusal(error)


def raised(jvm: Any, exception: Any) -> Py4JJavaError:
    future = jvm.java.util.concurrent.CompletableFuture()
    future.completeExceptionally(exception)
    with pytest.raises(Py4JJavaError) as failure:
        future.get()
    return failure.value
