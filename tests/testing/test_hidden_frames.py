"""A failed test of a user shows the lines of the test and the message, none of this package."""

from collections.abc import Callable
from pathlib import Path

import pytest

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.errors import GraphCompilerError
from graph_compiler.testing import CompiledPlan, assert_rows, load_pipeline

env = StreamExecutionEnvironment("p", params={"least": 1})
paid = env.from_source(Csv("/in", schema="a INT"), "orders").filter("a > :least").name("paid")
paid.sink_to(Parquet("/out")).name("out")
PLAN = CompiledPlan.of(env)


def run(*arguments: object, **named: object) -> None:
    """Fail before Spark is needed."""
    from graph_compiler.testing import MiniCluster

    MiniCluster(None).run(env, *arguments, **named)  # type: ignore[arg-type]


def read(name: str) -> None:
    from graph_compiler.testing import PipelineResult

    PipelineResult(compiled=compile_pipeline(env.pipeline()), rehearsal=None).rows(name)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "fails",
    [
        lambda: assert_rows([{"a": 1}], [{"a": 2}]),
        lambda: assert_rows([{"a": 1}], [{"b": 2}]),
        lambda: PLAN.assert_tasks("other"),
        lambda: PLAN.assert_staged("orders", "paid"),
        lambda: PLAN.assert_staged("orders", "paid", because="DECLARD"),
        lambda: PLAN.assert_same_task("orders", "payd"),
        lambda: PLAN.task_of("payd"),
        lambda: CompiledPlan.of(StreamExecutionEnvironment("empty")),
        lambda: load_pipeline("pipelines/nowhere.yaml"),
        pytest.param(lambda: run({"ordres": []}), marks=pytest.mark.spark),
        pytest.param(lambda: read("payd"), marks=pytest.mark.spark),
    ],
)
def test_a_failure_shows_no_frames_of_this_package(fails: Callable[[], None]) -> None:
    with pytest.raises((AssertionError, GraphCompilerError)) as failed:
        fails()
    shown = {Path(entry.path) for entry in failed.traceback.filter(failed)}
    assert shown == {Path(__file__)}


def test_a_bug_keeps_its_frames() -> None:
    with pytest.raises(TypeError) as failed:
        assert_rows([None], [{"a": 2}])  # type: ignore[list-item]
    assert any("row_assertions.py" in str(entry.path) for entry in failed.traceback)
