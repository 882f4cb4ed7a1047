"""Every operator returns the rows of the operation directly in Spark: fused or staged, with parallelism set or not."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from graph_compiler import (
    DataStream,
    EventTimeSessionWindows,
    Parquet,
    SlidingEventTimeWindows,
    StreamExecutionEnvironment,
    TumblingEventTimeWindows,
)
from graph_compiler.declaration import Pipeline
from graph_compiler.declaration.operators import Operator, PreviousVersion, Sink, Source
from graph_compiler.declaration.transformations import PhysicalTransformation
from tests.architecture.test_modules import leaves
from tests.conftest import with_options
from tests.harness.ways import WAYS
from tests.spark import functions
from tests.spark.conftest import RunPipeline

pytestmark = pytest.mark.spark

SEEN = "timestamp'2013-01-01 00:00:00' + make_interval(0, 0, 0, 0, 0, v * 7 % 50)"
SCHEMA = "v0 LONG, v LONG, k STRING, items ARRAY<LONG>"
ROWS = "id % 5 AS v0, id AS v, chr(97 + cast(id % 3 AS INT)) AS k, array(id, id + 1) AS items"


@dataclass(frozen=True)
class Case:
    """An operation as declared here, and as written in PySpark."""

    declare: Callable[[DataStream, DataStream], DataStream]
    directly: Callable[[DataFrame, DataFrame], DataFrame]


CASES = {
    "filter": Case(lambda s, _: s.filter("v > 10"), lambda s, _: s.where("v > 10")),
    "filter by a flag": Case(
        lambda s, _: s.with_columns(flag="v > 10").filter("flag"),
        lambda s, _: s.withColumn("flag", f.expr("v > 10")).where("v > 10"),
    ),
    "rejects": Case(
        lambda s, _: s.filter("v > 10", rejects="r").get_side_output("r"),
        lambda s, _: s.where("v <= 10"),
    ),
    "select": Case(
        lambda s, _: s.select("k", w="v + 1"), lambda s, _: s.selectExpr("k", "v + 1 AS w")
    ),
    "with_columns": Case(
        lambda s, _: s.with_columns(w="v + 1"), lambda s, _: s.withColumn("w", f.expr("v + 1"))
    ),
    "drop": Case(lambda s, _: s.drop("items"), lambda s, _: s.drop("items")),
    "rename": Case(
        lambda s, _: s.rename({"v": "wert"}), lambda s, _: s.withColumnRenamed("v", "wert")
    ),
    "cast": Case(
        lambda s, _: s.cast(v="STRING"), lambda s, _: s.withColumn("v", f.col("v").cast("string"))
    ),
    "flat_map": Case(
        lambda s, _: s.flat_map("posexplode(items)", "at", "item"),
        lambda s, _: s.select("*", f.posexplode("items").alias("at", "item")),
    ),
    "flat_map outer": Case(
        lambda s, _: s.flat_map("explode(filter(items, i -> i > 30))", "item", outer=True),
        lambda s, _: s.select("*", f.explode_outer(f.expr("filter(items, i -> i > 30)")).alias("item")),
    ),
    "sample": Case(
        lambda s, _: s.sample(1.0, seed=7), lambda s, _: s.sample(fraction=1.0, seed=7)
    ),
    "expect": Case(
        lambda s, _: s.expect("small", "v < 30", on_violation="drop"),
        lambda s, _: s.where("v < 30"),
    ),
    "expect to": Case(
        lambda s, _: s.expect("small", "v < 30", to="big").get_side_output("big"),
        lambda s, _: s.where("v >= 30"),
    ),
    "expect_unique": Case(
        lambda s, _: s.expect_unique("once", "k", on_violation="drop"),
        lambda s, _: s.join(s.groupBy("k").count().where("count > 1").selectExpr("k AS o"), f.expr("k = o"), "anti"),
    ),
    "expect_in": Case(
        lambda s, t: s.expect_in("known", t, "k", on_violation="drop"),
        lambda s, t: s.join(t.selectExpr("k AS o"), f.expr("k = o"), "semi"),
    ),
    "expect_rows": Case(lambda s, _: s.expect_rows("some", at_least=1), lambda s, _: s),
    "expect_same": Case(lambda s, t: s.expect_same("as many", t), lambda s, _: s),
    "expect_fresh": Case(
        lambda s, _: s.with_columns(day="DATE'2013-01-01'").expect_fresh("new", "day", "1 day"),
        lambda s, _: s.withColumn("day", f.expr("DATE'2013-01-01'")),
    ),
    "cache": Case(lambda s, _: s.cache(), lambda s, _: s),
    "sort": Case(lambda s, _: s.sort("v DESC"), lambda s, _: s.orderBy(f.desc("v"))),
    "top_n": Case(
        lambda s, _: s.top_n(3, "v DESC"), lambda s, _: s.orderBy(f.desc("v")).limit(3)
    ),
    "limit": Case(lambda s, _: s.limit(1_000), lambda s, _: s.limit(1_000)),
    "transform": Case(
        lambda s, _: s.transform(functions.doubled), lambda s, _: functions.doubled(s)
    ),
    "map_partitions": Case(
        lambda s, _: s.map_partitions(functions.same_batches, SCHEMA, batches="arrow"),
        lambda s, _: s,
    ),
    "map_partitions pandas": Case(
        lambda s, _: s.map_partitions(functions.doubled_batches, "k STRING, v LONG"),
        lambda s, _: functions.doubled(s),
    ),
    "apply_in_pandas": Case(
        lambda s, _: s.key_by("k").apply_in_pandas(functions.count_of_key, "k STRING, n LONG"),
        lambda s, _: s.groupBy("k").agg(f.count("*").alias("n")),
    ),
    "process": Case(
        lambda s, _: s.process(functions.split, outputs=("small", "null")).get_side_output("small"),
        lambda s, _: s.where("v <= 1"),
    ),
    "process by key": Case(
        lambda s, _: s.key_by("k").process(functions.NumberOfKey, "k STRING, n BIGINT"),
        lambda s, _: s.selectExpr("k", "row_number() OVER (PARTITION BY k ORDER BY v) AS n"),
    ),
    "sql": Case(
        lambda s, _: s.sql("SELECT k, count(*) AS n FROM {input} GROUP BY k"),
        lambda s, _: s.groupBy("k").agg(f.count("*").alias("n")),
    ),
    "sql of two": Case(
        lambda s, o: s.environment.sql("SELECT a.v, b.w FROM {a} a JOIN {b} b ON a.k = b.k", a=s, b=o),
        lambda s, o: s.join(o, "k").select("v", "w"),
    ),
    "aggregate": Case(
        lambda s, _: s.key_by("k", "v0").aggregate(n="count(*)", total="sum(v)"),
        lambda s, _: s.groupBy("k", "v0").agg(f.count("*").alias("n"), f.sum("v").alias("total")),
    ),
    "reduce": Case(
        lambda s, _: s.key_by("k").reduce(v="max", v0="sum"),
        lambda s, _: s.groupBy("k").agg(f.max("v").alias("v"), f.sum("v0").alias("v0")),
    ),
    "rollup": Case(
        lambda s, _: s.key_by("k", "v0").rollup().aggregate(n="count(*)"),
        lambda s, _: s.rollup("k", "v0").agg(f.count("*").alias("n")),
    ),
    "cube": Case(
        lambda s, _: s.key_by("k", "v0").cube().aggregate(n="count(*)"),
        lambda s, _: s.cube("k", "v0").agg(f.count("*").alias("n")),
    ),
    "grouping sets": Case(
        lambda s, _: s.key_by("k", "v0").grouping_sets("k", ("v0",)).aggregate(n="count(*)"),
        lambda s, _: s.groupingSets([["k"], ["v0"]], "k", "v0").agg(f.count("*").alias("n")),
    ),
    "aggregate all": Case(
        lambda s, _: s.aggregate(n="count(*)"), lambda s, _: s.agg(f.count("*").alias("n"))
    ),
    "tumbling window": Case(
        lambda s, _: (
            s.with_columns(seen=SEEN)
            .key_by("k")
            .window(TumblingEventTimeWindows("seen", "10 seconds"))
            .aggregate(n="count(*)")
        ),
        lambda s, _: (
            s.withColumn("seen", f.expr(SEEN))
            .groupBy("k", f.window("seen", "10 seconds").alias("w"))
            .agg(f.count("*").alias("n"))
            .selectExpr("k", "w.start AS window_start", "w.end AS window_end", "n")
        ),
    ),
    "sliding window of all": Case(
        lambda s, _: (
            s.with_columns(seen=SEEN)
            .window_all(SlidingEventTimeWindows("seen", "10 seconds", "5 seconds"))
            .aggregate(n="count(*)")
        ),
        lambda s, _: (
            s.withColumn("seen", f.expr(SEEN))
            .groupBy(f.window("seen", "10 seconds", "5 seconds").alias("w"))
            .agg(f.count("*").alias("n"))
            .selectExpr("w.start AS window_start", "w.end AS window_end", "n")
        ),
    ),
    "late rows of windows": Case(  # nothing of a batch is late
        lambda s, _: (
            s.with_columns(seen=SEEN)
            .key_by("k")
            .window(EventTimeSessionWindows("seen", "2 seconds"))
            .side_output_late_data("late")
            .aggregate(n="count(*)")
            .get_side_output("late")
        ),
        lambda s, _: s.withColumn("seen", f.expr(SEEN)).limit(0),
    ),
    "session window": Case(
        lambda s, _: (
            s.with_columns(seen=SEEN)
            .key_by("k")
            .window(EventTimeSessionWindows("seen", "2 seconds"))
            .aggregate(n="count(*)")
        ),
        lambda s, _: (
            s.withColumn("seen", f.expr(SEEN))
            .groupBy("k", f.session_window("seen", "2 seconds").alias("w"))
            .agg(f.count("*").alias("n"))
            .selectExpr("k", "w.start AS window_start", "w.end AS window_end", "n")
        ),
    ),
    "watermarks": Case(
        lambda s, _: s.with_columns(seen=SEEN).assign_timestamps_and_watermarks(
            "seen", max_out_of_orderness="5 seconds"
        ),
        lambda s, _: s.withColumn("seen", f.expr(SEEN)),
    ),
    "deduplicate": Case(lambda s, _: s.select("k").deduplicate(), lambda s, _: s.select("k").distinct()),
    "deduplicate by key and order": Case(
        lambda s, _: s.deduplicate("k", order_by="v DESC").select("k", "v"),
        lambda s, _: s.groupBy("k").agg(f.max("v").alias("v")),
    ),
    "join": Case(lambda s, o: s.join(o, on="k"), lambda s, o: s.join(o, "k")),
    "join of other names": Case(
        lambda s, o: s.join(o.rename({"k": "key"}), on={"k": "key"}, how="full"),
        lambda s, o: s.join(o.withColumnRenamed("k", "key"), f.col("k") == f.col("key"), "full"),
    ),
    "join full": Case(
        lambda s, o: s.join(o, on="k", how="full"), lambda s, o: s.join(o, "k", "full")
    ),
    "join right": Case(
        lambda s, o: s.join(o, on="k", how="right"), lambda s, o: s.join(o, "k", "right")
    ),
    "join semi": Case(
        lambda s, o: s.join(o, on="k", how="semi"), lambda s, o: s.join(o, "k", "semi")
    ),
    "join anti": Case(
        lambda s, o: s.join(o, on="k", how="anti"), lambda s, o: s.join(o, "k", "anti")
    ),
    "join and condition": Case(
        lambda s, o: s.join(o, on="k", condition="left.v > right.w"),
        lambda s, o: s.join(o, "k").where("v > w"),
    ),
    "join with a broadcast side": Case(
        lambda s, o: s.join(o.broadcast(), on="k", how="left"), lambda s, o: s.join(o, "k", "left")
    ),
    "join cross": Case(
        lambda s, o: s.select("v").join(o, how="cross"), lambda s, o: s.select("v").crossJoin(o)
    ),
    "interval_join": Case(
        lambda s, o: s.with_columns(seen=SEEN).join(o.select("w"), how="cross").select("k", "v", "seen").interval_join(
            s.select(k2="k", at=SEEN), on={"k": "k2"}, times=("seen", "at"), lower="-3 seconds", upper="5 seconds"
        ),
        lambda s, o: s.withColumn("seen", f.expr(SEEN)).crossJoin(o.select("w")).select("k", "v", "seen").join(
            s.selectExpr("k AS k2", f"{SEEN} AS at"),
            f.expr("k = k2 AND at BETWEEN seen - INTERVAL 3 SECONDS AND seen + INTERVAL 5 SECONDS"),
        ),
    ),
    "connect": Case(
        lambda s, o: s.connect(o).transform(functions.with_names),
        functions.with_names,
    ),
    "connect with broadcast state": Case(
        lambda s, o: s.connect(o.broadcast()).transform(functions.with_names),
        functions.with_names,
    ),
    "union": Case(lambda s, _: s.union(s.filter("v > 30")), lambda s, _: s.union(s.where("v > 30"))),
    "union_by_name": Case(
        lambda s, o: s.union_by_name(o, allow_missing_columns=True),
        lambda s, o: s.unionByName(o, allowMissingColumns=True),
    ),
    "intersect": Case(
        lambda s, o: s.select("k").intersect(o.select("k")),
        lambda s, o: s.select("k").intersect(o.select("k")),
    ),
    "intersect all": Case(
        lambda s, o: s.select("k").intersect(o.select("k"), all=True),
        lambda s, o: s.select("k").intersectAll(o.select("k")),
    ),
    "except": Case(
        lambda s, o: s.select("k").except_(o.select("k")),
        lambda s, o: s.select("k").subtract(o.select("k")),
    ),
    "except all": Case(
        lambda s, o: s.select("k").except_(o.select("k"), all=True),
        lambda s, o: s.select("k").exceptAll(o.select("k")),
    ),
    "iterate": Case(
        lambda s, _: s.select(node="v0", label="v0").deduplicate().with_columns(changed="true").iterate(
            functions.smallest_label,
            s.select(a="v0", b="(v0 + 2) % 4"),
            max_iterations=9,
            until="NOT bool_or(changed)",
        ).select("node", "label"),
        lambda s, _: s.selectExpr("v0 AS node", "CASE WHEN v0 = 4 THEN 4L ELSE v0 % 2 END AS label").distinct(),
    ),
}  # fmt: skip


def with_parallelism(pipeline: Pipeline, parallelism: int | None) -> Pipeline:
    """Set the parallelism of every operator that may have more than one subtask."""
    transformations = tuple(
        replace(transformation, settings=replace(transformation.settings, parallelism=parallelism))
        if isinstance(transformation, PhysicalTransformation) and not transformation.operator.is_non_parallel
        else transformation
        for transformation in pipeline.transformations
    )
    return replace(pipeline, transformations=transformations)


def rows(data: DataFrame) -> list[str]:
    return sorted(str(sorted(row.asDict(recursive=True).items())) for row in data.collect())


def write_inputs(spark: SparkSession, folder: Path) -> Path:
    """Write the inputs of the table's operators."""
    spark.range(0, 40, 1, 3).selectExpr(*ROWS.split(", ", 3)).write.parquet(f"{folder}/in")
    other = [("a", 11), ("b", 22), ("b", 23), ("d", 44)]
    spark.createDataFrame(other, "k STRING, w LONG").write.parquet(f"{folder}/other")
    return folder


@pytest.fixture(scope="module")
def inputs(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_inputs(spark, tmp_path_factory.mktemp("inputs"))


STAGED_TOO = frozenset(
    {
        *("filter", "rejects", "sort", "apply_in_pandas", "sql of two", "aggregate", "session window"),
        *("deduplicate by key and order", "join", "join with a broadcast side", "interval_join"),
        *("connect", "union", "except all", "iterate"),
    }
)
"""Cases that are always tried in both ways: one for each way to take rows from the tasks before."""


def ways() -> Iterator[ParameterSet]:
    """Yield each case in each way; most that stage between operators are for `make test-long`."""
    for name, case in CASES.items():
        for way, settings in WAYS.items():
            is_quick = way == "fused-unset" or (way == "staged-set" and name in STAGED_TOO)
            marks = [] if is_quick else [pytest.mark.long]
            yield pytest.param(case, *settings, id=f"{name}-{way}", marks=marks)


@pytest.mark.ci
@pytest.mark.parametrize(("case", "mode", "parallelism"), list(ways()))
def test_rows_are_those_of_the_operation_directly_in_spark(
    case: Case,
    mode: str,
    parallelism: int | None,
    *,
    inputs: Path,
    run_pipeline: RunPipeline,
    spark: SparkSession,
    tmp_path: Path,
) -> None:
    env = StreamExecutionEnvironment("p")
    streams = [env.from_source(Parquet(f"{inputs}/{name}"), name) for name in ("in", "other")]
    case.declare(*streams).sink_to(Parquet(f"{tmp_path}/out")).name("out")
    chaining = str(mode == "ALL_EXCHANGES_PIPELINED").lower()
    pipeline = with_options(env.pipeline(), shuffle_mode=mode, chaining=chaining)
    reports = run_pipeline(with_parallelism(pipeline, parallelism))
    assert reports[-1].failure is None, reports[-1].failure
    wanted = case.directly(*(spark.read.parquet(f"{inputs}/{name}") for name in ("in", "other")))
    found = spark.read.parquet(f"{tmp_path}/out")
    assert found.columns == wanted.columns
    assert rows(found) == rows(wanted)


def test_every_operator_is_in_the_table() -> None:
    env = StreamExecutionEnvironment("p")
    streams = [env.from_source(Parquet(f"/{name}"), name) for name in ("in", "other")]
    for case in CASES.values():
        case.declare(*streams)
    used = {type(transformation.operator) for transformation in env.pipeline().operators}
    wanted = {kind for kind in leaves(Operator) if kind.has_factory and not leaves(kind)}
    assert wanted - {Sink, Source, PreviousVersion} <= used
