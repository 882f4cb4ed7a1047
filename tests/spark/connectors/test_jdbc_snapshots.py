"""A database that changes while a task reads it: one snapshot for all its queries, or a refusal."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from graph_compiler import Jdbc, Parquet, Secret, StreamExecutionEnvironment
from graph_compiler.deployment.documents.report import ExecutionReport
from graph_compiler.spark_runtime.connectors import read_source
from graph_compiler.spark_runtime.connectors.database import Database
from graph_compiler.spark_runtime.connectors.databases.snapshots import _server, _Snapshots, shared_snapshots
from graph_compiler.spark_runtime.region.coordination import SinkCommitter
from tests.harness.postgres import DRIVER, PASSWORD, Postgres
from tests.spark.conftest import RunPipeline
from tests.spark.connectors.test_jdbc import jdbc

pytestmark = [pytest.mark.spark, pytest.mark.ci]
DERBY = "jdbc:derby:memory:snapshots;create=true"


@pytest.fixture
def postgres(postgres: Postgres) -> Postgres:
    postgres.sql(
        "CREATE TABLE orders (id BIGINT, paid BOOLEAN);"
        "INSERT INTO orders SELECT i, i % 2 = 0 FROM generate_series(0, 999) i"
    )
    return postgres


@pytest.fixture
def derby(spark: SparkSession) -> Jdbc:
    spark.range(10).write.jdbc(DERBY, "orders", mode="overwrite")
    return Jdbc(DERBY, table="orders")


def in_two_sinks(source: Jdbc, target: Path) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("p")
    orders = env.from_source(source, "orders")
    orders.filter("paid").sink_to(Parquet(str(target / "paid"))).name("paid")
    orders.filter("NOT paid").sink_to(Parquet(str(target / "open"))).name("open")
    return env


@pytest.fixture
def changed_meanwhile(postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    """Change every order after the first sink has been written, before the second is."""
    real = SinkCommitter.prepare

    def prepare(self: SinkCommitter, rows: Any) -> int:
        written = real(self, rows)
        postgres.sql("UPDATE orders SET paid = NOT paid")
        return written

    monkeypatch.setattr(SinkCommitter, "prepare", prepare)


@pytest.mark.usefixtures("changed_meanwhile")
@pytest.mark.parametrize("settings", [{}, {"fetch_size": 10}, {"options": {"fetchsize": 10}}])
@pytest.mark.parametrize("splits", [1, 3])
def test_each_row_is_in_one_of_two_sinks_though_the_table_changes_in_between(
    splits: int,
    settings: dict[str, Any],
    postgres: Postgres,
    run_pipeline: RunPipeline,
    spark: SparkSession,
    tmp_path: Path,
) -> None:
    source = jdbc(postgres, "orders", **settings)
    if splits > 1:
        source = replace(source, partition_column="id", lower_bound=0, upper_bound=999, num_partitions=splits)
    (report,) = run_pipeline(in_two_sinks(source, tmp_path).pipeline())
    assert report.failure is None, report.failure
    both = [spark.read.parquet(str(tmp_path / name)) for name in ("paid", "open")]
    assert [rows.count() for rows in both] == [500, 500]
    # By id alone: a row that both sinks have is paid in one of them, and not in the other.
    assert both[0].union(both[1]).select("id").distinct().count() == 1000
    assert sessions(postgres) == []


@pytest.mark.usefixtures("changed_meanwhile")
def test_accepted_changes_are_visible(
    postgres: Postgres, run_pipeline: RunPipeline, spark: SparkSession, tmp_path: Path
) -> None:
    source = jdbc(postgres, "orders", accept_changes_between_reads=True)
    (report,) = run_pipeline(in_two_sinks(source, tmp_path).pipeline())
    assert report.failure is None, report.failure
    both = [spark.read.parquet(str(tmp_path / name)) for name in ("paid", "open")]
    assert both[0].select("id").union(both[1].select("id")).distinct().count() == 500


@pytest.mark.parametrize("statement", ["SET search_path = other", Secret("warehouse", "init")])
def test_a_statement_of_the_declaration_runs_in_the_snapshot(
    statement: str | Secret, postgres: Postgres, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(Secret("warehouse", "init").variable, "SET search_path = other")
    postgres.sql("DROP SCHEMA IF EXISTS other CASCADE; CREATE SCHEMA other")
    options: Any = {"sessionInitStatement": statement}
    source = Jdbc(
        postgres.url,
        query="SELECT current_schema() AS schema",
        user=postgres.user,
        password=PASSWORD,
        driver=DRIVER,
        options=options,
    )
    with shared_snapshots(spark) as pin:
        rows = read_source(pin(source, 2, None), spark).collect()
    assert [row[0] for row in rows] == ["other"]


def test_sources_of_one_database_have_one_snapshot_whatever_their_options(
    postgres: Postgres, run_pipeline: RunPipeline, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others add an order and its customer between the two reads; only orders is read twice."""
    postgres.sql("CREATE TABLE customers (id BIGINT); INSERT INTO customers VALUES (1)")
    real, taken = _Snapshots._take, []

    def take(self: _Snapshots, database: Database) -> object:
        taken.append(real(self, database))
        postgres.sql("INSERT INTO customers VALUES (2000); INSERT INTO orders VALUES (2000, TRUE)")
        return taken[-1]

    monkeypatch.setattr(_Snapshots, "_take", take)
    env = StreamExecutionEnvironment("p")
    customers = env.from_source(jdbc(postgres, "customers", fetch_size=7), "customers")
    orders = env.from_source(jdbc(postgres, "orders"), "orders")
    customers.join(orders, on="id").sink_to(Parquet(f"{tmp_path}/joined")).name("joined")
    orders.sink_to(Parquet(f"{tmp_path}/all")).name("all")
    (report,) = run_pipeline(env.pipeline())
    assert report.failure is None, report.failure
    assert len(taken) == 1
    assert [spark.read.parquet(f"{tmp_path}/{name}").count() for name in ("joined", "all")] == [1, 1000]


@pytest.mark.parametrize(
    ("one", "other", "are_one"),
    [
        ("jdbc:postgresql://db/shop?user=a", "jdbc:postgresql://db/shop", True),
        ("jdbc:postgresql://db/shop", "jdbc:postgresql://db/stock", False),
        ("jdbc:postgresql://a,b/shop?targetServerType=primary", "jdbc:postgresql://a,b/shop", False),
        ("jdbc:postgresql://db/shop?targetServerType=secondary", "jdbc:postgresql://db/shop", False),
        ("jdbc:postgresql://?service=one", "jdbc:postgresql://?service=other", False),
    ],
)
def test_urls_of_one_host_and_database_have_one_snapshot(one: str, other: str, are_one: bool) -> None:
    assert (_server(Jdbc(one, table="t")) == _server(Jdbc(other, table="t"))) == are_one


def test_a_failing_task_ends_its_snapshot(postgres: Postgres, run_pipeline: RunPipeline, tmp_path: Path) -> None:
    env = StreamExecutionEnvironment("p")
    orders = env.from_source(jdbc(postgres, "orders"), "orders")
    orders.select(x="1 / (id - id)").sink_to(Parquet(str(tmp_path / "out"))).name("out")
    (report,) = run_pipeline(env.pipeline())
    assert report.failure is not None
    assert sessions(postgres) == []


def sessions(postgres: Postgres) -> list[tuple[str, ...]]:
    """List the transactions that stay open; a connection that was closed may take a moment to be gone."""
    found: list[tuple[str, ...]] = []
    for _ in range(50):
        found = postgres.sql("SELECT query FROM pg_stat_activity WHERE state LIKE 'idle in %'")
        if not found:
            break
        time.sleep(0.1)
    return found


def failure_of(reports: list[ExecutionReport]) -> str:
    failure = reports[-1].failure
    assert failure is not None
    assert failure.throwable_type == "NON_RECOVERABLE_ERROR"
    return failure.message


@pytest.mark.parametrize("word", ["BEGIN", "select 1; commit", "START TRANSACTION", "rollback"])
def test_a_statement_that_ends_the_snapshot_is_refused(
    word: str, postgres: Postgres, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    source = jdbc(postgres, "orders", options={"sessionInitStatement": word})
    message = failure_of(run_pipeline(in_two_sinks(source, tmp_path).pipeline()))
    assert "its sessionInitStatement says" in message


def test_a_database_without_shared_snapshots_is_read_only_once(
    derby: Jdbc, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    env = StreamExecutionEnvironment("p")
    orders = env.from_source(derby, "orders")
    orders.sink_to(Parquet(str(tmp_path / "one"))).name("one")
    (report,) = run_pipeline(env.pipeline())
    assert report.failure is None, report.failure
    orders.filter("id > 3").sink_to(Parquet(str(tmp_path / "two"))).name("two")
    message = failure_of(run_pipeline(env.pipeline()))
    assert "this task reads it 2 times" in message
    assert "Apache Derby has no snapshot that several connections share" in message
    assert "accept_changes_between_reads=True" in message


def test_splits_of_a_database_without_shared_snapshots_are_refused(
    derby: Jdbc, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    cut = replace(derby, partition_column="id", lower_bound=0, upper_bound=9, num_partitions=2)
    env = StreamExecutionEnvironment("p")
    env.from_source(cut, "orders").sink_to(Parquet(str(tmp_path / "one"))).name("one")
    assert "this task reads it in 2 queries" in failure_of(run_pipeline(env.pipeline()))


@pytest.mark.parametrize("way_out", ["stage", "accept"])
def test_the_fixes_that_the_refusal_suggests_work(
    way_out: str, derby: Jdbc, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    env = StreamExecutionEnvironment("p")
    accepts = way_out == "accept"
    orders = env.from_source(replace(derby, accept_changes_between_reads=accepts), "orders")
    rows = orders if accepts else orders.stage("read once")
    rows.sink_to(Parquet(str(tmp_path / "one"))).name("one")
    rows.filter("id > 3").sink_to(Parquet(str(tmp_path / "two"))).name("two")
    reports = run_pipeline(env.pipeline())
    assert [report.failure for report in reports] == [None] * len(reports)


def test_a_self_join_reads_its_source_twice(derby: Jdbc, run_pipeline: RunPipeline, tmp_path: Path) -> None:
    env = StreamExecutionEnvironment("p")
    orders = env.from_source(derby, "orders")
    both = orders.union(orders.filter("id > 3"))
    both.sink_to(Parquet(str(tmp_path / "one"))).name("one")
    assert "this task reads it 2 times" in failure_of(run_pipeline(env.pipeline()))
