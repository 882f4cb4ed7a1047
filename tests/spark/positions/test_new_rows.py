"""Sources of databases that read only rows above the highest value of a column so far."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from graph_compiler import Jdbc, Parquet, StreamExecutionEnvironment
from graph_compiler.deployment.documents.report import ThrowableType
from graph_compiler.spark_runtime.region.coordination import SinkCommitter
from tests.harness.position_runs import Runs
from tests.harness.postgres import DRIVER, PASSWORD, Postgres

pytestmark = [pytest.mark.spark, pytest.mark.ci]


@pytest.fixture
def postgres(server: Postgres, monkeypatch: pytest.MonkeyPatch) -> Postgres:
    """Return the server with one empty table."""
    monkeypatch.setenv(PASSWORD.variable, server.password)
    server.sql(
        "DROP SCHEMA public CASCADE; CREATE SCHEMA public;"
        'CREATE TABLE orders (id BIGINT, price NUMERIC(20, 4), day DATE, at TIMESTAMP, "At It" TIMESTAMPTZ, x FLOAT8)'
    )
    return server


def insert(postgres: Postgres, *ids: int) -> None:
    """Insert orders; each column grows with the id, by a day or a tenth."""
    for id in ids:
        time = f"TIMESTAMP '2024-01-01 00:00:00.000001' + INTERVAL '{id} days'"
        values = f"{id}, {id} / 10.0, DATE '2024-01-01' + {id}, {time}, ({time}) AT TIME ZONE 'UTC', {id} / 10.0"
        postgres.sql(f"INSERT INTO orders VALUES ({values})")


def runs_by(
    postgres: Postgres, column: str, folder: Path, spark: SparkSession, lag: str | None = None, **settings: Any
) -> Runs:
    what: dict[str, Any] = settings if "query" in settings else {"table": "orders", **settings}
    source = Jdbc(postgres.url, user=postgres.user, password=PASSWORD, driver=DRIVER, **what)
    env = StreamExecutionEnvironment("shop")
    rows = env.from_source(source, "orders", only_new=column, lag=lag).uid("orders")
    rows.sink_to(Parquet(f"{folder}/out"), mode="append").name("out").uid("out")
    return Runs(env, folder, spark)


def ids(runs: Runs) -> list[int]:
    return sorted(row.id for row in runs.spark.read.parquet(f"{runs.folder}/out").select("id").collect())


@pytest.mark.parametrize(
    ("column", "settings"),
    [
        ("id", {"partition_column": "id", "lower_bound": 0, "upper_bound": 9, "num_partitions": 3}),
        ("PRICE", {}),
        ("day", {"query": "SELECT id, day FROM orders"}),
        ("at", {"fetch_size": 1}),
        ('"At It"', {}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_run_reads_the_rows_above_those_of_the_last_one(
    column: str, settings: dict[str, Any], postgres: Postgres, spark: SparkSession, tmp_path: Path
) -> None:
    runs = runs_by(postgres, column, tmp_path, spark, **settings)
    assert runs.run("r0") == []  # no row yet
    insert(postgres, 1, 2)
    assert runs.run("r1") == []
    assert runs.run("r2") == []
    (read,) = runs.report().increments
    assert read.bounds is not None
    assert read.bounds.lower == read.bounds.upper is not None
    insert(postgres, 3)
    assert runs.run("r3") == []
    assert ids(runs) == [1, 2, 3]


def test_a_run_that_is_tried_again_reads_up_to_the_same_value(
    postgres: Postgres, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = runs_by(postgres, "at", tmp_path, spark)
    insert(postgres, 1)

    def crash(*_: object) -> Any:
        raise RuntimeError("crash")

    with monkeypatch.context() as patch:
        patch.setattr(SinkCommitter, "prepare", crash)
        assert "crash" in runs.run("r1")[0]
    insert(postgres, 2)
    assert runs.run("r1") == []
    assert ids(runs) == [1]
    assert runs.run("r2") == []
    assert ids(runs) == [1, 2]


@pytest.mark.parametrize(
    ("column", "lag"), [("at", "36 hours"), ("day", "2 days"), ("id", "2"), ('"At It"', "30 hours")]
)
def test_a_lag_leaves_the_newest_rows_for_the_next_run(
    column: str, lag: str, postgres: Postgres, spark: SparkSession, tmp_path: Path
) -> None:
    runs = runs_by(postgres, column, tmp_path, spark, lag)
    insert(postgres, 1, 2, 5)
    assert runs.run("r1") == []
    assert ids(runs) == [1, 2]
    insert(postgres, 4)  # committed late, with a lower value
    assert runs.run("r2") == []
    assert ids(runs) == [1, 2]
    insert(postgres, 9)
    assert runs.run("r3") == []
    assert ids(runs) == [1, 2, 4, 5]


@pytest.mark.parametrize(
    ("column", "lag", "statement", "words"),
    [
        ("at", None, "INSERT INTO orders (id) VALUES (7)", ("1 row of", "has no value in 'at'")),
        ("x", None, "", ("column 'x' is a float8", "whole numbers, decimals, dates or timestamps")),
        ("at", None, "UPDATE orders SET at = 'infinity'", ("the highest value is 'infinity'",)),
        ("at", "5", "", ("column 'at' has times, and lag is 5",)),
        ("id", "5 days", "", ("column 'id' has numbers, and lag is 5 days",)),
        ("day", "5 hours", "", ("column 'day' is a DATE, and lag is 5:00:00",)),
        ("nothing", None, "", ("nothing",)),
    ],
)
def test_what_has_no_order_is_refused(  # noqa: PLR0917  # parameters and fixtures
    column: str,
    lag: str | None,
    statement: str,
    words: tuple[str, ...],
    postgres: Postgres,
    spark: SparkSession,
    tmp_path: Path,
) -> None:
    runs = runs_by(postgres, column, tmp_path, spark, lag)
    insert(postgres, 1)
    if statement:
        postgres.sql(statement)
    (message,) = runs.run("r1")
    assert [each for each in words if each not in message] == [], message
    failure = runs.report().failure
    assert failure is not None
    assert failure.throwable_type is (
        ThrowableType.RECOVERABLE_ERROR if column == "nothing" else ThrowableType.NON_RECOVERABLE_ERROR
    )
    assert runs.log("orders").numbers() == []


def test_the_highest_value_is_that_of_the_sessions_which_read(
    postgres: Postgres, spark: SparkSession, tmp_path: Path
) -> None:
    """Another table of the name has a higher one: what comes below it would never be read."""
    insert(postgres, 9)
    postgres.sql("DROP SCHEMA IF EXISTS tenant CASCADE; CREATE SCHEMA tenant; CREATE TABLE tenant.orders (LIKE orders)")
    postgres.sql("INSERT INTO tenant.orders (id, at) VALUES (1, '2024-01-01')")
    options = {"sessionInitStatement": "SET search_path = tenant"}
    runs = runs_by(postgres, "at", tmp_path, spark, options=options)
    assert runs.run("r1") == []
    postgres.sql("INSERT INTO tenant.orders (id, at) VALUES (2, '2024-01-02')")
    assert runs.run("r2") == []
    assert ids(runs) == [1, 2]
