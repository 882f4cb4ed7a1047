"""Wherever a pipeline is cut, its rows are the same: random pipelines, three ways and in the testing kit."""

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from graph_compiler import DataStream, Parquet, StreamExecutionEnvironment
from graph_compiler.testing import MiniCluster, Rows
from tests.conftest import with_options
from tests.harness.reference import Row, published
from tests.spark.conftest import RunPipeline

pytestmark = [pytest.mark.spark, pytest.mark.ci]

WAYS = [("ALL_EXCHANGES_PIPELINED", "true"), ("ALL_EXCHANGES_BLOCKING", "true"), ("AUTO", "false")]
Step = Callable[[DataStream, DataStream], DataStream]
"""Takes the stream so far and the source; every step keeps the columns k STRING, v BIGINT."""

STEPS: dict[str, Step] = {
    "filter": lambda s, _: s.filter("v % 3 != 0 OR v IS NULL"),
    "rejects": lambda s, _: s.filter("k > 'b'", rejects="r").get_side_output("r"),
    "with_columns": lambda s, _: s.with_columns(v="v * 2 + length(coalesce(k, ''))"),
    "select": lambda s, _: s.select(k="upper(k)", v="v"),
    "flat_map": lambda s, _: s.flat_map("explode(array(v, v))", "v2").select("k", v="v2"),
    "expect": lambda s, _: s.expect("small", "v < 40", on_violation="drop"),
    "union": lambda s, source: s.union(source.filter("v > 10")),
    "rebalance": lambda s, _: s.rebalance().filter("true"),
    "set parallelism": lambda s, _: s.rebalance().filter("true").set_parallelism(3),
    "aggregate": lambda s, _: s.key_by("k").aggregate(n="count(v)", total="sum(v)").select("k", v="total + n"),
    "aggregate in two": lambda s, _: s.key_by("k").reduce(v="max").set_parallelism(2),
    "deduplicate": lambda s, _: s.deduplicate(),
    "first of key": lambda s, _: s.deduplicate("k", order_by="v DESC NULLS LAST"),
    "join": lambda s, source: s.join(
        source.key_by("k").aggregate(most="max(v)"), on="k", how="left"
    ).select("k", v="coalesce(v, 0) + coalesce(most, 0)"),
    "join broadcast": lambda s, source: s.join(
        source.deduplicate("k", order_by="v").rename({"v": "least"}).broadcast(), on="k"
    ).select("k", v="v - least"),
    "semi": lambda s, source: s.join(source.filter("v > 20"), on="k", how="semi"),
    "sort": lambda s, _: s.sort("v", "k"),
    "top": lambda s, _: s.deduplicate().top_n(5, "v DESC", "k"),
    "stage": lambda s, _: s.stage("to cut here too").filter("k IS NULL OR k != 'zz'"),
}  # fmt: skip
ROWS = st.lists(
    st.tuples(st.sampled_from([None, "a", "b", "c", "ä ö"]), st.one_of(st.none(), st.integers(-50, 50))), max_size=40
)


@settings(
    max_examples=4,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=st.lists(st.sampled_from(sorted(STEPS)), min_size=2, max_size=6), data=ROWS)
def test_rows_are_equal_fused_staged_and_unchained(
    steps: list[str],
    data: list[tuple[str | None, int | None]],
    run_pipeline: RunPipeline,
    spark: SparkSession,
    tmp_path: Path,
) -> None:
    folder = Path(mkdtemp(dir=tmp_path))
    spark.createDataFrame(data, "k STRING, v BIGINT").repartition(2).write.parquet(f"{folder}/in")
    found: list[list[Row]] = []
    for number, (mode, chaining) in enumerate(WAYS):
        env = StreamExecutionEnvironment(f"p{folder.name}{number}")
        source = stream = env.from_source(Parquet(f"{folder}/in"), "in")
        for step in steps:
            stream = STEPS[step](stream, source)
        stream.sink_to(Parquet(f"{folder}/out{number}")).name("out")
        pipeline = with_options(env.pipeline(), shuffle_mode=mode, chaining=chaining)
        report = run_pipeline(pipeline)[-1]
        assert report.failure is None, report.failure
        columns, rows = published(folder / f"out{number}")
        assert columns == ["k", "v"]
        found.append(sorted(rows, key=str))
    result = MiniCluster(spark).run(pipeline, {"in": Rows("k STRING, v BIGINT", data)})
    found.append(sorted((tuple(row.values()) for row in result.sink("out").rows), key=str))
    assert found[0] == found[1] == found[2] == found[3], json.dumps(steps)
