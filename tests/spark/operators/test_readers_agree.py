"""Readers of one operator see the same rows, also where their conditions could change what it groups or joins."""

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from graph_compiler import DataStream, Parquet, StreamExecutionEnvironment, Values
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.operators import Sink
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.spark_runtime.connectors import read_source
from graph_compiler.spark_runtime.region.region_evaluation import RegionEvaluation
from graph_compiler.spark_runtime.results.pinned_settings import pinned
from graph_compiler.spark_runtime.spark_internals.plans import analyzed_plan
from tests.spark.conftest import RunPipeline

pytestmark = [pytest.mark.spark, pytest.mark.ci]
MINUS = "cast(k AS STRING) LIKE '%-0.0%'"
"""A condition that differs for two equal keys."""
EARLY = {
    "spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold": "0",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.autoBroadcastJoinThreshold": "-1",
}
"""Settings with which Spark filters small files as it would large ones."""


def joined(rows: DataStream) -> DataStream:
    return rows.join(rows.rename({"v": "w"}), "k").select("k", v="v * 10 + w")


ABOVE: Mapping[str, Callable[[DataStream], DataStream]] = {
    "aggregate": lambda rows: rows.key_by("k").aggregate(v="count(*)"),
    "window": lambda rows: rows.sql("SELECT k, count(*) OVER (PARTITION BY k) AS v FROM {input}"),
    "join": joined,
    "distinct": lambda rows: rows.select("k", v="1").deduplicate(),
    "first of a key": lambda rows: rows.deduplicate("k", order_by="v"),
    "intersect": lambda rows: rows.intersect(rows.select("k", "v")),
    "except": lambda rows: rows.except_(rows.filter("v = 3")),
    "aggregate, then another operator": lambda rows: rows.key_by("k").aggregate(v="count(*)").select("k", v="v + 1"),
    "aggregate in a query": lambda rows: rows.sql("SELECT k, v FROM (SELECT k, count(*) AS v FROM {input} GROUP BY k)"),
}
KEYS = {"a double": "cast(x AS DOUBLE)", "a struct": "named_struct('d', cast(x AS FLOAT))"}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS.keys())
@pytest.mark.parametrize("above", ABOVE.values(), ids=ABOVE.keys())
def test_two_filters_by_hand_put_each_row_into_one_output(
    above: Callable[[DataStream], DataStream], key: str, run_pipeline: RunPipeline, spark: SparkSession, tmp_path: Path
) -> None:
    texts = [(text, n) for n, text in enumerate(["0.0", "-0.0", "1.0", "NaN"])]
    spark.createDataFrame(texts, "x STRING, v LONG").selectExpr(f"{key} AS k", "v").write.parquet(f"{tmp_path}/in")
    env = StreamExecutionEnvironment("p")
    rows = above(env.from_source(Parquet(f"{tmp_path}/in"), "in"))
    for name, condition in {"all": "true", "minus": MINUS, "rest": f"NOT {MINUS}"}.items():
        rows.filter(condition).sink_to(Parquet(f"{tmp_path}/{name}")).name(name)
    assert run_pipeline(env.pipeline())[-1].failure is None
    found = {
        name: Counter(map(str, spark.read.parquet(f"{tmp_path}/{name}").collect())) for name in ("all", "minus", "rest")
    }
    assert found["minus"] + found["rest"] == found["all"]


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS.keys())
def test_what_equals_a_row_that_is_taken_away_goes_too(
    key: str, run_pipeline: RunPipeline, spark: SparkSession, tmp_path: Path
) -> None:
    """Spark would make one filter of it, `NOT condition`, which keeps the 0.0 beside a -0.0."""
    query = f"SELECT {key} AS k, 1 AS v FROM VALUES ('0.0'), ('-0.0'), ('1.0') AS t(x)"
    spark.sql(query).write.parquet(f"{tmp_path}/in")
    env = StreamExecutionEnvironment("p")
    rows = env.from_source(Parquet(f"{tmp_path}/in"), "in")
    rows.except_(rows.filter(MINUS)).sink_to(Parquet(f"{tmp_path}/out"))
    assert run_pipeline(env.pipeline())[-1].failure is None
    (left,) = spark.read.parquet(f"{tmp_path}/out").selectExpr("cast(k AS STRING)").collect()
    assert left[0] in ("1.0", "{1.0}")


@pytest.mark.parametrize(
    ("key", "readers", "is_fixed"), [("DOUBLE", 2, True), ("DOUBLE", 1, False), ("BIGINT", 2, False)]
)
def test_rows_are_fixed_only_where_readers_could_differ(
    key: str, readers: int, is_fixed: bool, spark: SparkSession
) -> None:
    env = StreamExecutionEnvironment("p")
    rows = env.from_source(Values([(1, 1.5)], f"k {key}, v DOUBLE"), "in").key_by("k")
    largest = rows.aggregate(v="max(v)").name("largest")
    for number in range(readers):
        largest.filter("k > 0").sink_to(Parquet(f"/out/{number}")).name(f"out_{number}")
    (region,) = describe_regions(compile_pipeline(env.pipeline()))
    evaluation = RegionEvaluation(
        region=region,
        spark=spark,
        parameters={},
        read_source=lambda connector, splits: read_source(connector, spark, splits),
        read_staged=lambda staged, _: pytest.fail(f"{staged} is read"),
        materialize=lambda operator, *_: pytest.fail(f"{operator.name} is staged"),
        stop_clock=lambda _, rows: rows,
        contracts=[],
    )
    for operator in region.operators:
        if not isinstance(operator.operator, Sink):
            evaluation.run(operator)
    (node,) = [each.node_id for each in region.operators if each.name == "largest"]
    plan = analyzed_plan(evaluation.outputs[node, None]).toString()
    assert ("Generate inline" in plan) is is_fixed


def test_a_join_over_a_part_of_text_with_a_collation_finds_what_is_equal(
    run_pipeline: RunPipeline, spark: SparkSession, tmp_path: Path
) -> None:
    """Spark's Bloom filter, which it makes for a side of 10 GB or more, would hash the bytes of 'abc'."""
    spark.sql("SELECT * FROM VALUES ('abc-1', 1), ('ABC-2', 2), ('xyz-3', 3) AS t(code, n)").write.parquet(
        f"{tmp_path}/big"
    )
    spark.sql("SELECT * FROM VALUES ('ABC', 'one', 1), ('Q', 'q', 0) AS t(k, name, live)").write.parquet(
        f"{tmp_path}/names"
    )
    env = StreamExecutionEnvironment("p")
    big = env.from_source(Parquet(f"{tmp_path}/big"), "big").cast({"code": "STRING COLLATE UTF8_LCASE"})
    names = env.from_source(Parquet(f"{tmp_path}/names"), "names").cast({"k": "STRING COLLATE UTF8_LCASE"})
    query = "SELECT b.n, d.name FROM {b} b JOIN {d} d ON substr(b.code, 1, 3) = d.k"
    env.sql(query, b=big, d=names.filter("live = 1")).sink_to(Parquet(f"{tmp_path}/out"))
    with pinned(spark, EARLY):
        assert run_pipeline(env.pipeline())[-1].failure is None
    assert {row.n for row in spark.read.parquet(f"{tmp_path}/out").collect()} == {1, 2}
