"""Each operator that calls a function binds values and parameters to its keywords."""

from collections.abc import Callable

import pytest
from pyspark.sql import SparkSession

from graph_compiler import DataStream, Parquet, Range, StreamExecutionEnvironment, param
from graph_compiler.testing import REAL, MiniCluster
from tests.spark import functions

pytestmark = pytest.mark.spark


CASES: dict[str, tuple[Callable[[DataStream], DataStream], list[int]]] = {
    "transform": (lambda s: s.transform(functions.times, by=param("by"), add=1), [1, 11]),
    "connect": (lambda s: s.connect(s).transform(functions.times_of_two, by=param("by")), [0, 0, 10, 10]),
    "map_partitions": (lambda s: s.map_partitions(functions.times_batches, "id LONG", by=param("by")), [0, 10]),
    "process": (lambda s: s.process(functions.times_with_sides, outputs=("rest",), by=param("by")), [0, 10]),
    "iterate": (lambda s: s.iterate(functions.times, max_iterations=2, by=param("by")), [0, 100]),
    "apply_in_pandas": (
        lambda s: s.key_by("id").apply_in_pandas(functions.times_group, "id LONG", by=param("by")),
        [0, 10],
    ),
}


@pytest.mark.parametrize(("declare", "expected"), CASES.values(), ids=CASES.keys())
def test_a_function_gets_the_value_of_the_run(
    declare: Callable[[DataStream], DataStream], expected: list[int], spark: SparkSession
) -> None:
    env = StreamExecutionEnvironment("p", params={"by": 2})
    source = env.from_source(Range(0, 2), "in")
    declare(source).name("made").sink_to(Parquet("/nowhere")).name("out")
    result = MiniCluster(spark).run(env, {"in": REAL}, params={"by": 10})
    assert sorted(str(row["id"]) for row in result.rows("made")) == sorted(map(str, expected))
