"""Columns whose names are paths for Spark (`a.b`), and names that differ only in case."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from graph_compiler import DataStream, KeyedProcessFunction, Orc, Parquet, StreamExecutionEnvironment
from graph_compiler.declaration.operators.process_functions import ProcessContext, Row
from tests.harness.reference import published
from tests.spark.conftest import RunPipeline
from tests.spark.functions import same_batches, unchanged_frame, unchanged_frames

pytestmark = pytest.mark.spark

SCHEMA = "id INT, `s.x` INT, `a``b` INT"
QUERY = "SELECT CAST(id AS INT) AS id, CAST(id + 10 AS INT) AS `s.x`, CAST(id + 20 AS INT) AS `a``b`"
EXPECTED = [(0, 10, 20), (1, 11, 21), (2, 12, 22)]
Declare = Callable[[DataStream, DataStream], DataStream]


class Echo(KeyedProcessFunction):
    """Returns its rows."""

    def process_element(self, value: Row, ctx: ProcessContext) -> Iterator[Row]:  # noqa: ARG002  # of its interface
        yield value


def rows_of(
    declare: Declare, query: str, run_pipeline: RunPipeline, spark: SparkSession, folder: Path
) -> list[tuple[object, ...]]:
    spark.range(0, 3, 1, 2).write.parquet(f"{folder}/in")
    env = StreamExecutionEnvironment("p")
    source = env.from_source(Parquet(f"{folder}/in"), "in")
    one, other = (source.sql(f"{query} FROM {{input}}").name(name) for name in ("one", "other"))
    declare(one, other).sink_to(Parquet(f"{folder}/out")).name("out")
    failure = run_pipeline(env.pipeline())[-1].failure
    assert failure is None, failure.message
    return sorted(published(folder / "out")[1], key=str)


NAMES: dict[str, Declare] = {
    "map_partitions over pandas": lambda s, _: s.map_partitions(unchanged_frames, SCHEMA),
    "map_partitions over Arrow": lambda s, _: s.map_partitions(same_batches, SCHEMA, batches="arrow"),
    "apply_in_pandas": lambda s, _: s.key_by("s.x").apply_in_pandas(unchanged_frame, SCHEMA),
    "process": lambda s, _: s.key_by("a`b").process(Echo, SCHEMA),
    "intersect": lambda s, o: s.intersect(o.select("a`b", "s.x", "id")),
    "except": lambda s, o: s.except_(o.filter("id > 2")),
    "except all": lambda s, o: s.except_(o.filter("id > 2"), all=True),
}


@pytest.mark.parametrize("declare", NAMES.values(), ids=NAMES)
def test_columns_may_have_dots_and_backticks(
    declare: Declare, run_pipeline: RunPipeline, spark: SparkSession, tmp_path: Path
) -> None:
    assert rows_of(declare, QUERY, run_pipeline, spark, tmp_path) == EXPECTED


BESIDE = "SELECT CAST(id AS INT) AS id, named_struct('x', CAST(-id AS INT)) AS s, CAST(id + 10 AS INT) AS `s.x`"
STRUCT = "id INT, s STRUCT<x: INT>, `s.x` INT"
BESIDE_A_FIELD: dict[str, Declare] = {
    "staged": lambda s, _: s.stage("x").filter("id >= 0"),
    "except": lambda s, o: s.except_(o.filter("id > 2")),
    "intersect": lambda s, o: s.intersect(o),
    "union": lambda s, o: s.filter("id < 2").union(o.filter("id = 2")).filter("id >= 0"),
    "map_partitions": lambda s, _: s.map_partitions(same_batches, STRUCT, batches="arrow"),
}


@pytest.mark.parametrize("declare", BESIDE_A_FIELD.values(), ids=BESIDE_A_FIELD)
def test_a_column_may_be_called_as_a_field_of_another(
    declare: Declare, run_pipeline: RunPipeline, spark: SparkSession, tmp_path: Path
) -> None:
    found = rows_of(declare, BESIDE, run_pipeline, spark, tmp_path)
    assert found == [(id, {"x": -id}, id + 10) for id in range(3)]


@pytest.mark.ci
def test_orc_has_a_column_that_is_called_as_a_field_of_another(
    run_pipeline: RunPipeline, spark: SparkSession, tmp_path: Path
) -> None:
    spark.range(0, 3, 1, 1).write.parquet(f"{tmp_path}/in")
    env = StreamExecutionEnvironment("p")
    rows = env.from_source(Parquet(f"{tmp_path}/in"), "in").sql(f"{BESIDE} FROM {{input}}")
    rows.sink_to(Orc(f"{tmp_path}/out")).name("out")
    assert run_pipeline(env.pipeline())[-1].failure is None
    found = spark.read.orc(f"{tmp_path}/out").selectExpr("id", "s.x AS field", "`s.x` AS column").collect()
    assert sorted(map(tuple, found)) == [(id, -id, id + 10) for id in range(3)]


IN_ANOTHER_CASE: dict[str, Declare] = {
    "union": lambda s, o: s.filter("id < 2").union(o.filter("id = 2")).filter("id >= 0"),
    "intersect": lambda s, o: s.intersect(o),
    "except": lambda s, o: s.except_(o.filter("id > 2")),
    "union_by_name": lambda s, o: s.filter("id < 2").union_by_name(o.filter("id = 2"), allow_missing_columns=True),
    "grouping sets": lambda s, _: s.key_by("ID", "k").grouping_sets(("id", "K")).aggregate(n="count(*)").drop("n"),
}


@pytest.mark.parametrize("declare", IN_ANOTHER_CASE.values(), ids=IN_ANOTHER_CASE)
def test_names_are_the_same_in_another_case(
    declare: Declare, run_pipeline: RunPipeline, spark: SparkSession, tmp_path: Path
) -> None:
    def declared(one: DataStream, other: DataStream) -> DataStream:
        return declare(one, other.select(K="k", ID="id"))

    query = "SELECT CAST(id AS INT) AS id, CAST(id + 10 AS INT) AS k"
    assert rows_of(declared, query, run_pipeline, spark, tmp_path) == [(0, 10), (1, 11), (2, 12)]
