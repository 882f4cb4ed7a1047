"""Rows that are pipelined inside a task, beside the same rows staged for another."""

from collections.abc import Callable

import pytest

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.testing import PipelineResult

pytestmark = [pytest.mark.spark, pytest.mark.ci]
Run = Callable[..., PipelineResult]


def test_a_reader_in_the_task_and_one_in_another_see_the_same_rows(pipeline_run: Run) -> None:
    config = {"execution.batch-shuffle-mode": "ALL_EXCHANGES_BLOCKING"}
    env = StreamExecutionEnvironment("sales", config=config)
    orders = env.from_source(Csv("/nowhere", schema="k STRING, v INT"), "orders")
    totals = orders.key_by("k").aggregate(v="sum(v)").name("totals")
    beside = totals.pipelined("a row for each key").key_by("v").aggregate(n="count(*)")
    beside.name("beside").sink_to(Parquet("/no/beside")).name("beside_out")
    totals.rebalance().filter("v > 3").name("apart").sink_to(Parquet("/no/apart")).name("apart_out")
    vertices = [region.vertex_ids for region in compile_pipeline(env.pipeline()).deployment.regions]
    assert sorted(map(len, vertices)) == [1, 1, 2]

    rows = [{"k": key, "v": value} for key, value in (("a", 1), ("a", 3), ("b", 4), ("c", 1))]
    result = pipeline_run(env, {"orders": rows})
    result.assert_rows("beside_out", [{"v": 4, "n": 2}, {"v": 1, "n": 1}])
    result.assert_rows("apart_out", [{"k": "a", "v": 4}, {"k": "b", "v": 4}])
