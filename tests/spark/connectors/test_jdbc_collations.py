"""Readers of one table agree, though the database compares texts by its collation and Spark by bytes (decision 56)."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from graph_compiler import DataStream, Jdbc, Parquet, StreamExecutionEnvironment
from graph_compiler.spark_runtime.connectors import read_source
from graph_compiler.spark_runtime.connectors.databases.snapshots import decided_by_spark
from tests.harness.postgres import ENGLISH, IGNORES_CASE, PASSWORD, Postgres
from tests.spark import functions
from tests.spark.conftest import RunPipeline
from tests.spark.connectors.test_jdbc import jdbc

pytestmark = [pytest.mark.spark, pytest.mark.ci]
NAMES = ["A", "B", "a", "b", "Ä", "ä", None]
Split = Callable[[DataStream], tuple[DataStream, DataStream]]


def by_filter(rows: DataStream) -> tuple[DataStream, DataStream]:
    kept = rows.filter("name > 'a'", rejects="rest")
    return kept, kept.get_side_output("rest")


def by_equality(rows: DataStream) -> tuple[DataStream, DataStream]:
    kept = rows.filter("name = 'a'", rejects="rest")
    return kept, kept.get_side_output("rest")


def by_contract(rows: DataStream) -> tuple[DataStream, DataStream]:
    kept = rows.expect("late", "name > 'a'", to="rest")
    return kept, kept.get_side_output("rest")


def by_hand(rows: DataStream) -> tuple[DataStream, DataStream]:
    return rows.filter("name > 'a'"), rows.filter("NOT coalesce(name > 'a', false)")


def by_function(rows: DataStream) -> tuple[DataStream, DataStream]:
    kept = rows.process(functions.after_a, outputs=("rest",))
    return kept, kept.get_side_output("rest")


@pytest.fixture(
    params=[("postgres", IGNORES_CASE), (ENGLISH, '"default"'), (ENGLISH, IGNORES_CASE)],
    ids=["ignores case", "English", "English ignores case"],
)
def names(server: Postgres, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Jdbc:
    """Return a table of texts; its options ask for what several readers must not have."""
    monkeypatch.setenv(PASSWORD.variable, server.password)
    database, collation = request.param
    there = replace(server, database=database)
    values = ", ".join("(NULL)" if name is None else f"('{name}')" for name in NAMES)
    there.sql(
        f"DROP TABLE IF EXISTS names; CREATE TABLE names (name TEXT COLLATE {collation});"
        f"INSERT INTO names VALUES {values}"
    )
    return jdbc(there, "names", options={"pushdownpredicate": "true"})


@pytest.mark.parametrize("split", [by_filter, by_equality, by_contract, by_hand, by_function])
def test_each_row_of_a_table_is_in_one_output(
    split: Split, names: Jdbc, run_pipeline: RunPipeline, spark: SparkSession, tmp_path: Path
) -> None:
    env = StreamExecutionEnvironment("p")
    outputs = split(env.from_source(names, "names"))
    for number, stream in enumerate(outputs):
        stream.sink_to(Parquet(f"{tmp_path}/{number}")).name(f"out_{number}")
    assert run_pipeline(env.pipeline())[-1].failure is None
    found = [row[0] for n in range(2) for row in spark.read.parquet(f"{tmp_path}/{n}").collect()]
    assert sorted(found, key=str) == sorted(NAMES, key=str)


def test_one_reader_lets_the_database_decide(
    server: Postgres, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its conditions are sent there, as without this package."""
    monkeypatch.setenv(PASSWORD.variable, server.password)
    server.sql("DROP TABLE IF EXISTS names; CREATE TABLE names (name TEXT)")
    source = jdbc(server, "names")
    for connector, is_sent in ((source, True), (decided_by_spark(source), False)):
        rows = read_source(connector, spark).where("name = 'a'")
        plan = rows._jdf.queryExecution().executedPlan().toString()
        assert ("*EqualTo(name,a)" in plan) is is_sent
