"""Each row is in exactly one output of a split, also where equal values are not identical (decision 56)."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, DoubleType, IntegerType

from graph_compiler import DataStream, Parquet, StreamExecutionEnvironment
from graph_compiler.declaration.operators import Expect, Filter, OnViolation, Operator
from graph_compiler.spark_runtime.operators import Scope, evaluate_outputs
from graph_compiler.spark_runtime.operators.decisions import equals_are_identical, why_decide_once
from graph_compiler.spark_runtime.spark_internals.file_listings import Listing
from graph_compiler.spark_runtime.spark_internals.plan_leaves import PlanLeaf
from graph_compiler.spark_runtime.spark_internals.plans import analyzed_plan
from tests.spark import functions
from tests.spark.conftest import RunPipeline

pytestmark = [pytest.mark.spark, pytest.mark.ci]

ZERO = {
    "a double": "cast(x AS DOUBLE)",
    "a float": "cast(x AS FLOAT)",
    "a struct": "named_struct('d', cast(x AS DOUBLE))",
    "an array": "array(cast(x AS DOUBLE))",
}
"""Keys that are equal for 0.0 and -0.0."""
MINUS = "cast(k AS STRING) LIKE '%-0.0%'"
TEXT = "CASE WHEN x LIKE '%0.0' THEN if(x = '-0.0', 'A', 'a') ELSE x END COLLATE UTF8_LCASE"
"""A key that is equal for a and A."""
CAPITAL = "k COLLATE UTF8_BINARY = 'A'"
ABOVE: Mapping[str, Callable[[DataFrame], DataFrame]] = {
    "aggregate": lambda s: s.groupBy("k").agg({"v": "count"}).withColumnRenamed("count(v)", "v"),
    "window": lambda s: s.selectExpr("k", "count(v) OVER (PARTITION BY k) AS v"),
    "join": lambda s: s.join(s.selectExpr("k", "v AS w"), "k").selectExpr("k", "v * 10 + w AS v"),
    "left join": lambda s: s.join(s.selectExpr("k", "v AS w"), "k", "left").selectExpr("k", "v * 10 + w AS v"),
    "distinct": lambda s: s.select("k").distinct().selectExpr("k", "1L AS v"),
    "union": lambda s: s.select("k").union(s.select("k")).distinct().selectExpr("k", "1L AS v"),
    "intersect": lambda s: s.select("k").intersect(s.select("k")).selectExpr("k", "1L AS v"),
    "except": lambda s: s.select("k").subtract(s.select("k").where("v = 3")).selectExpr("k", "1L AS v"),
    "nothing": lambda s: s,
}
SPLITS: Mapping[str, Callable[[str], Operator]] = {
    "filter": lambda condition: Filter(condition, "rest"),
    "expect": lambda condition: Expect("c", condition, OnViolation.DROP, "rest"),
}


def keyed(spark: SparkSession, key: str, texts: Sequence[str] = ("0.0", "-0.0", "1.0", "NaN")) -> DataFrame:
    rows = spark.createDataFrame(list(zip(texts, range(len(texts)), strict=True)), "x STRING, v LONG")
    return rows.selectExpr(f"{key} AS k", "v")


def outputs_of(split: Operator, rows: DataFrame) -> list[DataFrame]:
    def fixed(_name: str, given: DataFrame) -> DataFrame:
        return rows.sparkSession.createDataFrame(given.collect(), given.schema)

    scope = Scope(
        spark=rows.sparkSession,
        parameters={},
        parallelism=None,
        read=lambda connector, _: pytest.fail(f"{connector} is read"),
        materialize=fixed,
        stop_clock=lambda given: given,
        contracts=[],
        is_dry=False,
    )
    return [*evaluate_outputs(split, {0: [rows]}, scope).values()]


def texts(*streams: DataFrame) -> Counter[str]:
    """Return the rows as text, in which 0.0 and -0.0 differ."""
    return Counter(str(tuple(row)) for stream in streams for row in stream.collect())


@pytest.mark.parametrize("split", SPLITS.values(), ids=SPLITS.keys())
@pytest.mark.parametrize("above", ABOVE.values(), ids=ABOVE.keys())
def test_a_row_is_in_one_output_whatever_is_below_the_split(
    above: Callable[[DataFrame], DataFrame], split: Callable[[str], Operator], spark: SparkSession
) -> None:
    rows = above(keyed(spark, ZERO["a double"]))
    for condition in (MINUS, f"k = 0 AND {MINUS}"):
        assert texts(*outputs_of(split(condition), rows)) == texts(rows), condition


@pytest.mark.parametrize("key", ZERO.values(), ids=ZERO.keys())
def test_a_group_is_counted_in_one_output_whatever_its_key(key: str, spark: SparkSession) -> None:
    rows = ABOVE["aggregate"](keyed(spark, key))
    assert texts(*outputs_of(Filter(MINUS, "rest"), rows)) == texts(rows)


@pytest.mark.parametrize("above", ["aggregate", "window", "join", "left join", "distinct"])
def test_texts_that_a_collation_treats_as_equal_are_decided_once(above: str, spark: SparkSession) -> None:
    rows = ABOVE[above](keyed(spark, TEXT).coalesce(1))
    assert texts(*outputs_of(Filter(CAPITAL, "rest"), rows)) == texts(rows)


def test_a_condition_that_spark_rewrites_is_decided_once(spark: SparkSession) -> None:
    """Spark replaces k by 0.0 in a condition that requires both to be equal, and not in its negation."""
    rows = spark.createDataFrame([(0.0, 1), (-0.0, 2), (1.0, 3)], "k DOUBLE, v LONG")
    assert texts(*outputs_of(Filter("k = 0.0D AND cast(k AS STRING) = '-0.0'", "rest"), rows)) == texts(rows)


def test_a_value_that_statistics_of_files_leave_out_is_in_one_output(
    spark: SparkSession, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    """Arrow's statistics have no NaN, which Spark treats as the largest number: the file seems to have no row."""
    pq.write_table(pa.table({"k": [1.0, float("nan")]}), tmp_path / "in.parquet")
    env = StreamExecutionEnvironment("p")
    split(env.from_source(Parquet(f"{tmp_path}/in.parquet"), "in").filter("k > 5", rejects="rest"), tmp_path)
    assert run_pipeline(env.pipeline())[-1].failure is None
    both = [spark.read.parquet(str(tmp_path / name)) for name in ("kept", "rest")]
    assert texts(*both) == Counter(["(1.0,)", "(nan,)"])


def split(kept: DataStream, folder: Path, tag: str = "rest") -> None:
    for name, stream in (("kept", kept), ("rest", kept.get_side_output(tag))):
        stream.sink_to(Parquet(f"{folder}/{name}")).name(name)


def test_the_conditions_of_a_function_with_side_outputs_do_not_pass_its_input(
    spark: SparkSession, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    keyed(spark, ZERO["a double"]).write.parquet(f"{tmp_path}/in")
    env = StreamExecutionEnvironment("p")
    counts = env.from_source(Parquet(f"{tmp_path}/in"), "in").key_by("k").aggregate(n="count(*)")
    split(counts.process(functions.by_sign, outputs=("minus",)), tmp_path, "minus")
    assert run_pipeline(env.pipeline())[-1].failure is None
    both = [spark.read.parquet(str(tmp_path / name)) for name in ("kept", "rest")]
    assert texts(*both) == Counter(["(0.0, 2)", "(1.0, 1)", "(nan, 1)"])


@settings(max_examples=12, deadline=None)
@given(
    key=st.sampled_from([*ZERO.values(), TEXT]),
    values=st.lists(st.sampled_from(["0.0", "-0.0", "1.0", "NaN"]), min_size=1, max_size=6),
    below=st.lists(st.sampled_from(sorted(set(ABOVE) - {"nothing"})), min_size=1, max_size=2),
    condition=st.sampled_from([MINUS, CAPITAL, "v > 1", f"{MINUS} OR v = 1"]),
    is_filter=st.booleans(),
)
def test_the_outputs_of_random_plans_have_every_row_once(
    spark: SparkSession, key: str, values: list[str], below: list[str], condition: str, is_filter: bool
) -> None:
    if condition == CAPITAL and key != TEXT:  # other types have no collation
        condition = MINUS
    rows = keyed(spark, key, values).coalesce(1)
    for name in below:
        rows = ABOVE[name](rows)
    chosen = SPLITS["filter" if is_filter else "expect"](condition)
    both, given = texts(*outputs_of(chosen, rows)), texts(rows)
    assert same_zeros(both) == same_zeros(given)  # each computation may return another of equal keys


def same_zeros(rows: Counter[str]) -> Counter[str]:
    return Counter(text.replace("-0.0", "0.0") for text in rows.elements())


IDENTICAL = "struct<a:int,b:array<decimal(9,2)>,c:string,d:date,e:timestamp,f:timestamp_ntz,g:binary>"


@pytest.mark.parametrize(
    ("kind", "is_identical"),
    [
        *[(IDENTICAL, True), ("boolean", True), ("bigint", True), ("interval day to second", True)],
        *[("double", False), ("float", False), ("string collate UTF8_LCASE", False)],
        *[("array<struct<a:float>>", False), ("map<int,int>", False), ("variant", False)],
    ],
)
@pytest.mark.usefixtures("spark")
def test_types_whose_equal_values_are_identical(kind: str, is_identical: bool) -> None:
    assert equals_are_identical(DataType.fromDDL(kind)) is is_identical


INTEGER, DOUBLE = IntegerType(), DoubleType()
FILES = PlanLeaf("LogicalRelation", Listing(None, None))


@pytest.mark.parametrize(
    ("leaves", "kinds", "reason"),
    [
        ([FILES], [INTEGER], None),
        ([PlanLeaf("LocalRelation", None), FILES], [INTEGER], None),
        ([FILES], [INTEGER, DOUBLE], "values of double may be equal and not identical"),
        (
            [FILES, PlanLeaf("LogicalRelation", None)],
            [INTEGER],
            "its source (LogicalRelation) may decide conditions by rules of its own",
        ),
    ],
)
def test_when_a_decision_is_made_once(leaves: list[PlanLeaf], kinds: list[DataType], reason: str | None) -> None:
    assert why_decide_once(leaves, kinds) == reason


def test_conditions_are_moved_where_that_changes_no_row(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(10).selectExpr("id", "cast(id AS STRING) AS s").write.parquet(f"{tmp_path}/in")
    for outputs in outputs_of(Filter("id > 5", "rest"), spark.read.parquet(f"{tmp_path}/in")):
        assert "Generate" not in analyzed_plan(outputs).toString()
