"""A pooler between us and the database: each transaction, and each statement outside one, may be in another session."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from pyspark.sql import SparkSession

from graph_compiler import Jdbc, Parquet
from graph_compiler.declaration.connectors import Connector
from graph_compiler.errors import PublicationConflictError
from graph_compiler.spark_runtime.connectors.database import Database
from graph_compiler.spark_runtime.connectors.databases.carrying import MARKS, MarkOutcome, Marks
from graph_compiler.spark_runtime.connectors.databases.sql_errors import is_changed_session, is_refusal, refuses_rows
from tests.harness.pooler import Pooler, running_pooler
from tests.harness.postgres import Postgres
from tests.harness.sinks import Sinks
from tests.spark.conftest import RunPipeline
from tests.spark.connectors.test_jdbc import jdbc, tables
from tests.spark.connectors.test_jdbc_faults import raised, together
from tests.spark.connectors.test_jdbc_snapshots import in_two_sinks

pytestmark = [pytest.mark.spark, pytest.mark.ci]
SETTING = "?prepareThreshold=0"
"""What docs/connectors.md says to set behind a pooler."""


@pytest.fixture(params=[2, 5])
def pooler(postgres: Postgres, request: pytest.FixtureRequest) -> Iterator[Pooler]:
    with running_pooler(postgres, connections=request.param) as pooler:
        yield pooler


def over(pooler: Pooler, postgres: Postgres, table: str, parameters: str = SETTING) -> Jdbc:
    return replace(jdbc(postgres, table), url=pooler.url(parameters))


def numbers(postgres: Postgres, table: str = "sales") -> list[int]:
    return sorted(int(row[0]) for row in postgres.sql(f"SELECT id FROM {table}"))


def test_runs_in_all_modes_have_their_rows_once(
    sinks: Sinks, postgres: Postgres, pooler: Pooler, spark: SparkSession
) -> None:
    expected: list[int] = []
    table = over(pooler, postgres, "sales")
    for run in range(9):
        mode = ("append", "overwrite", "merge")[run % 3]
        keys: dict[str, Any] = {"keys": ("id",)} if mode == "merge" else {}
        added = range(run * 20, run * 20 + 20)
        rows = spark.range(added.start, added.stop, numPartitions=2)
        for _ in range(2):  # the second time is a retry
            sinks.write(table, rows, run=f"r{run}", mode=mode, **keys)
        expected = [*([] if mode == "overwrite" else expected), *added]
    assert numbers(postgres) == sorted(expected)
    assert tables(postgres) == ["sales"]


def test_statements_of_the_driver_need_no_setting(postgres: Postgres, pooler: Pooler, spark: SparkSession) -> None:
    database = Database(spark=spark, connector=over(pooler, postgres, "sales", parameters=""))
    marks = Marks(database=database, table=f"public.{MARKS}")
    for number in range(10):
        marks.make_ready()
        database.execute([f"INSERT INTO {marks.table} VALUES ('{number}', 'published', 't')"])
        assert marks.outcome(str(number)) is MarkOutcome.PUBLISHED


def test_a_statement_of_another_session_is_no_refusal_of_rows(spark: SparkSession) -> None:
    jvm = spark._jvm
    assert jvm is not None
    for state in ("42P05", "26000"):
        cause = jvm.java.sql.SQLException('prepared statement "S_1"', state)
        batch = jvm.java.sql.BatchUpdateException("batch entry 0 was aborted", None)
        batch.setNextException(cause)
        error = raised(jvm, jvm.org.apache.spark.SparkException("Job aborted", batch))
        assert is_changed_session(error)
        assert not is_refusal(error)
        assert not refuses_rows(error)


@pytest.mark.parametrize("fetch_size", [None, 10])
def test_all_readers_of_a_region_see_one_snapshot(
    fetch_size: int | None, postgres: Postgres, run_pipeline: RunPipeline, spark: SparkSession, tmp_path: Path
) -> None:
    postgres.sql(
        "CREATE TABLE orders (id BIGINT, paid BOOLEAN);"
        "INSERT INTO orders SELECT i, i % 2 = 0 FROM generate_series(0, 999) i"
    )
    with running_pooler(postgres, connections=4) as pooler:
        source = replace(
            over(pooler, postgres, "orders", parameters=""),
            partition_column="id",
            lower_bound=0,
            upper_bound=999,
            num_partitions=3,
            fetch_size=fetch_size,
        )
        (report,) = run_pipeline(in_two_sinks(source, tmp_path).pipeline())
    assert report.failure is None, report.failure
    both = [spark.read.parquet(str(tmp_path / name)) for name in ("paid", "open")]
    assert [rows.count() for rows in both] == [500, 500]


@pytest.mark.parametrize("place", ["table", "folder"])
def test_runs_that_append_at_once_are_all_there_once(
    place: str, sinks: Sinks, postgres: Postgres, pooler: Pooler, spark: SparkSession, tmp_path: Path
) -> None:
    """Each of three runs appends twice at the same instant: a try, and a second copy of it."""
    target: Connector = over(pooler, postgres, "sales") if place == "table" else Parquet(str(tmp_path / "sales"))
    sinks.write(target, spark.range(1), run="first", mode="append")
    runs = [1, 1, 2, 2, 3, 3]
    next_run, start = iter(runs), Barrier(len(runs))

    def append() -> None:
        run = next(next_run)
        rows = spark.range(run * 10, run * 10 + 10, numPartitions=2)
        prepared = sinks.prepare(target, rows, run=f"r{run}", mode="append")
        start.wait(timeout=120)
        try:
            prepared.publish()
        except PublicationConflictError:  # the task is tried again
            sinks.write(target, rows, run=f"r{run}", mode="append")

    together(spark, append, times=len(runs))
    rows = spark.read.parquet(target.one_path) if isinstance(target, Parquet) else None
    found = numbers(postgres) if rows is None else sorted(row.id for row in rows.collect())
    assert found == [0, *range(10, 40)]
