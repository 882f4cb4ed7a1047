import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import graph_compiler
from graph_compiler import Csv, DataStream, InvalidPipelineError, Parquet, SlotSharingGroup, StreamExecutionEnvironment
from graph_compiler.declaration.operators import Filter, OperatorSettings, Source
from graph_compiler.declaration.transformations import OneInputTransformation
from graph_compiler.explain.documents.graph_json import streaming_plan
from graph_compiler.projects.pipeline_files import load_pipeline
from tests.conftest import word_count


def test_an_empty_environment_is_refused_with_flinks_message(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(InvalidPipelineError, match="No operators defined in streaming topology. Cannot execute."):
        env.get_stream_graph()


def test_a_source_alone_is_not_a_topology(env: StreamExecutionEnvironment) -> None:
    env.from_source(Csv("/in"), "in")
    with pytest.raises(InvalidPipelineError, match="No operators defined"):
        env.get_stream_graph()


def test_get_stream_graph_clears_the_transformations_as_in_flink() -> None:
    env = word_count()
    graph = env.get_stream_graph("counting")
    assert graph.job_name == "counting"
    assert [node.declared_name for node in graph.nodes] == ["lines", "words", "counts", "counts_out"]
    with pytest.raises(InvalidPipelineError, match="No operators defined"):
        env.get_stream_graph()


def test_get_stream_graph_keeps_the_transformations_on_request() -> None:
    env = word_count()
    first = env.get_stream_graph(clear_transformations=False)
    assert env.get_stream_graph(clear_transformations=False) == first


def test_the_execution_plan_is_flinks_and_forgets_nothing() -> None:
    env = word_count()
    plan = json.loads(env.get_execution_plan())
    assert plan == streaming_plan(env.get_stream_graph(clear_transformations=False))
    assert [node["pact"] for node in plan["nodes"]][::3] == ["Data Source", "Data Sink"]
    assert env.get_execution_plan() == env.get_execution_plan()


def test_a_description_is_in_the_plan(env: StreamExecutionEnvironment) -> None:
    rows = env.from_source(Csv("/in"), "in").set_description("all orders")
    rows.sink_to(Parquet("/out")).name("out")
    contents = [node["contents"] for node in json.loads(env.get_execution_plan())["nodes"]]
    assert contents == ["all orders", "Sink: out"]


def test_an_empty_execution_plan_is_refused(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(InvalidPipelineError, match="No operators defined in streaming topology"):
        env.get_execution_plan()


@pytest.mark.parametrize("method", ["execute", "execute_async"])
def test_execute_is_refused_with_the_command_to_use(method: str) -> None:
    with pytest.raises(InvalidPipelineError) as refusal:
        getattr(word_count(), method)("daily")
    (problem,) = refusal.value.problems
    name = word_count().name
    assert problem.message == (
        f"{method}() was called, but a pipeline's module only declares the pipeline; "
        f"the pipeline's name is that of its environment, '{name}'"
    )
    assert problem.declared_at is not None
    assert problem.declared_at.file == __file__
    for way in ("graph-compiler run NAME --in-process", "graph-compiler run NAME`", "build_dag(env)"):
        assert way in str(problem.hint)


SCRIPT = """
from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
env.from_source(Csv("/in", schema="id INT"), "orders").sink_to(Parquet("/out"))
if __name__ == "__main__":
    env.execute("Daily sales")
"""


@pytest.mark.parametrize("name", ["sales", "the sales"])
def test_a_script_that_runs_its_pipeline_is_told_the_command_for_its_file(name: str, tmp_path: Path) -> None:
    file = tmp_path / "pipelines" / f"{name}.py"
    file.parent.mkdir()
    file.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, f"pipelines/{name}.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(graph_compiler.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    words = shlex.quote(f"pipelines/{name}.py")
    assert f"`graph-compiler run {words} --in-process` runs the pipeline now" in done.stderr
    assert "`if __name__` block" in done.stderr


def test_a_module_may_end_with_a_block_that_nobody_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "pipelines" / "guarded_sales.py"
    file.parent.mkdir()
    file.write_text(SCRIPT)
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert [one.name for one in load_pipeline(str(file)).operators] == ["orders", "Sink"]


def test_settings_apply_to_the_operator_through_any_stream_object(env: StreamExecutionEnvironment) -> None:
    stream = env.from_source(Csv("/in"), "in").filter("x > 0")
    same = (
        stream.name("positive")
        .uid("p")
        .set_description("keeps what is positive")
        .set_parallelism(3)
        .slot_sharing_group("big")
        .disable_chaining()
    )
    transformation = env.transformation(stream.id)
    assert same is stream
    assert isinstance(transformation, OneInputTransformation)
    assert (transformation.name, transformation.chaining_strategy) == ("positive", "NEVER")
    assert transformation.settings == OperatorSettings(
        uid="p", parallelism=3, description="keeps what is positive", slot_sharing_group=SlotSharingGroup("big")
    )


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda stream: stream.rebalance(), "rebalance"),
        (lambda stream: stream.global_(), "global_"),
        (lambda stream: stream.partition_custom("a"), "partition_custom"),
        (lambda stream: stream.key_by("a"), "key_by"),
        (lambda stream: stream.stage("it is asked for"), "stage"),
        (lambda stream: stream.pipelined("it is asked for"), "pipelined"),
        (lambda stream: stream.filter("a > 0", rejects="r").get_side_output("r"), "get_side_output"),
    ],
)
def test_a_setting_of_a_call_that_adds_no_operator_is_refused(
    call: Callable[[DataStream], DataStream], name: str, env: StreamExecutionEnvironment
) -> None:
    stream = call(env.from_source(Csv("/in"), "in"))
    with pytest.raises(InvalidPipelineError) as refused:
        stream.name("no")
    (problem,) = refused.value.problems
    assert problem.message == f"name can be set on an operator only; {name} adds none"
    assert problem.hint == "set it on the operator before or after it"


def test_a_union_has_its_settings_on_the_operator_after_it(env: StreamExecutionEnvironment) -> None:
    first, second = (env.from_source(Csv(f"/{name}"), name) for name in ("a", "b"))
    with pytest.raises(InvalidPipelineError) as refused:
        first.union(second).name("both")
    (problem,) = refused.value.problems
    assert problem.message == "name can be set on an operator only; union adds none"
    assert problem.hint == "set it on the operator after it"


def test_a_declaration_has_its_location(env: StreamExecutionEnvironment) -> None:
    stream = env.from_source(Csv("/in"), "in").filter("x > 0")
    location = env.transformation(stream.id).declared_at
    assert location is not None
    assert location.file == __file__


def test_a_name_airflow_would_refuse_is_refused() -> None:
    with pytest.raises(InvalidPipelineError, match="'late routes' cannot be a pipeline's name"):
        StreamExecutionEnvironment("late routes")


def test_ids_count_from_one_in_every_environment() -> None:
    assert word_count().pipeline() == word_count().pipeline()
    assert [transformation.id for transformation in word_count().pipeline().transformations] == [1, 2, 3, 4, 5]


def test_a_join_with_a_broadcast_side_partitions_neither(env: StreamExecutionEnvironment) -> None:
    big, small = env.from_source(Csv("/big"), "big"), env.from_source(Csv("/small"), "small")
    big.join(small.broadcast(), on="k").sink_to(Parquet("/out"))
    graph = env.get_stream_graph()
    assert [edge.partitioner.name for edge in graph.edges] == ["FORWARD", "BROADCAST", "FORWARD"]


def test_a_join_partitions_both_sides_by_key(env: StreamExecutionEnvironment) -> None:
    left, right = env.from_source(Csv("/l"), "l"), env.from_source(Csv("/r"), "r")
    left.join(right, on=["a", "b"]).sink_to(Parquet("/out"))
    assert [edge.partitioner.label for edge in env.get_stream_graph().edges] == ["hash(a, b)", "hash(a, b)", "forward"]


def test_streams_of_a_cleared_environment_stay_usable(env: StreamExecutionEnvironment) -> None:
    orders = env.from_source(Csv("/in"), "orders")
    sink = orders.sink_to(Parquet("/out/1"))
    env.get_stream_graph()
    sink.name("late")
    orders.filter("x").name("f").sink_to(Parquet("/out/2")).name("second")
    assert [node.declared_name for node in env.get_stream_graph().nodes] == ["orders", "f", "second"]


@pytest.mark.parametrize("how", ["join", "union"])
def test_a_stream_of_another_environment_is_refused(how: str, env: StreamExecutionEnvironment) -> None:
    one = env.from_source(Csv("/a"), "a")
    other = StreamExecutionEnvironment("other").from_source(Csv("/b"), "b")
    with pytest.raises(InvalidPipelineError, match="after 'a': it was given a stream of another environment, 'other'"):
        one.join(other, on="k") if how == "join" else one.union(other)


def test_invalid_calls_are_refused_at_the_call(env: StreamExecutionEnvironment) -> None:
    stream = env.from_source(Csv("/a"), "a")
    with pytest.raises(InvalidPipelineError, match="there is no join type 'outer'"):
        stream.join(stream, on="k", how="outer")  # type: ignore[arg-type]
    with pytest.raises(InvalidPipelineError, match=r"key_by was given \['a'\]"):
        stream.key_by(["a"])  # type: ignore[arg-type]
    with pytest.raises(InvalidPipelineError, match="key_by was given nothing"):
        stream.key_by()
    with pytest.raises(InvalidPipelineError, match=r"stage\(\) needs a reason"):
        stream.stage(" ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"tags": "shop"}, "tags: is 'shop'\n    allowed: texts in a list"),
        ({"tags": ["a", 5]}, "tags: there is 5"),
        ({"tags": ["x" * 101]}, "allowed: texts of 1 to 100 characters"),
        ({"description": 7}, "description: is 7"),
    ],
    ids=str,
)
def test_tags_and_descriptions_that_airflow_cannot_show_are_refused(words: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidPipelineError) as refused:
        StreamExecutionEnvironment("sales", **words)
    assert said in str(refused.value)


@pytest.mark.parametrize("given", [3, "filter", Filter, Source(Csv("/in"))], ids=["3", "text", "class", "source"])
def test_apply_takes_operators_and_nothing_else(env: StreamExecutionEnvironment, given: Any) -> None:
    rows = env.from_source(Csv("/in"), "in")
    with pytest.raises(InvalidPipelineError, match="after 'in': apply was given"):
        rows.apply(given)


def test_apply_adds_an_operator_with_its_name_and_all_its_inputs(env: StreamExecutionEnvironment) -> None:
    one, other = env.from_source(Csv("/a"), "a"), env.from_source(Csv("/b"), "b")
    first = env.transformation(one.apply(Filter("x")).id)
    assert isinstance(first, OneInputTransformation)
    assert (first.inputs, first.name, first.operator) == ((1,), "Filter", Filter("x"))
    assert env.transformation(one.apply(Filter("x"), other).id).inputs == (1, 2)
