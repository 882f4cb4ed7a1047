"""Every refusal, with its message."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from graph_compiler import Csv, InvalidPipelineError, Parquet, Range, StreamExecutionEnvironment
from graph_compiler.compiler.checks.validation import all_problems, find_problems
from graph_compiler.compiler.job_graph.job_graph_generator import generate_job_graph
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration import Pipeline
from graph_compiler.declaration.operators import ChainingStrategy, Filter
from graph_compiler.declaration.pipeline import IncompletePipelineError
from graph_compiler.declaration.transformations import OneInputTransformation, PartitionTransformation
from graph_compiler.errors import Problem
from graph_compiler.options.model import PipelineOptions

Environment = StreamExecutionEnvironment


def words(env: Environment) -> list[str]:
    with pytest.raises(InvalidPipelineError) as refusal:
        env.get_stream_graph(clear_transformations=False)
    return [line.strip() for line in str(refusal.value).splitlines() if "declared at" not in line]


def test_duplicate_uids_are_refused(env: Environment) -> None:
    stream = env.from_source(Csv("/in"), "in").filter("x").name("first").uid("same")
    stream.filter("y").name("second").uid("same").sink_to(Parquet("/out"))
    with pytest.raises(InvalidPipelineError) as refusal:
        compile_pipeline(env.pipeline())
    (problem,) = refusal.value.problems
    first = env.transformation(stream.id)
    assert problem.message == f"its uid 'same' is already used by 'first' ({first.declared_at})"
    assert problem.hint == "a uid identifies the results of one operator; give each its own"
    assert problem.operator == "second"


def test_duplicate_uids_are_refused_by_the_job_graph_as_in_flink(env: Environment) -> None:
    stream = env.from_source(Csv("/in"), "in").filter("x").name("first").uid("same")
    stream.filter("y").name("second").uid("same").sink_to(Parquet("/out"))
    stream_graph = env.get_stream_graph()
    assert [node.settings.uid for node in stream_graph.nodes] == [None, "same", "same", None]
    with pytest.raises(InvalidPipelineError, match="its uid 'same' is already used by 'first'"):
        generate_job_graph(stream_graph, PipelineOptions())


def test_a_duplicate_uid_of_unknown_place_is_reported_without_place(env: Environment) -> None:
    stream = env.from_source(Csv("/in"), "in").uid("same")
    stream.filter("y").name("second").uid("same").sink_to(Parquet("/out"))
    declared = env.pipeline()
    unplaced = tuple(replace(one, declared_at=None) for one in declared.transformations)
    pipeline = replace(declared, transformations=unplaced)
    (problem,) = find_problems(pipeline, PipelineOptions())
    assert str(problem).splitlines()[0] == "second: its uid 'same' is already used by 'in'"


def test_a_duplicate_uid_is_reported_with_other_problems(env: Environment) -> None:
    stream = env.from_source(Csv("/in"), "in").uid("same")
    stream.filter(" ").name("second").uid("same").sink_to(Parquet("/out"))
    first = env.transformation(stream.id)
    with pytest.raises(InvalidPipelineError) as refusal:
        compile_pipeline(env.pipeline())
    assert [problem.message for problem in refusal.value.problems] == [
        f"its uid 'same' is already used by 'in' ({first.declared_at})",
        "it has an empty expression",
    ]


def test_a_cycle_outside_an_iteration_is_refused() -> None:
    def transformation(id: int, input: int, name: str) -> OneInputTransformation:
        always = ChainingStrategy.ALWAYS
        return OneInputTransformation(id=id, inputs=(input,), name=name, operator=Filter("x"), chaining_strategy=always)

    pipeline = Pipeline(name="loop", transformations=(transformation(1, 2, "one"), transformation(2, 1, "two")))
    (problem,) = find_problems(pipeline, PipelineOptions())
    assert problem.message in ("it reads its own output: one → two → one", "it reads its own output: two → one → two")


def test_an_unknown_input_is_refused() -> None:
    lost = PartitionTransformation(id=1, inputs=(7,), partitioner=None)
    operator = OneInputTransformation(
        id=2, inputs=(1,), name="f", operator=Filter("x"), chaining_strategy=ChainingStrategy.ALWAYS
    )
    pipeline = Pipeline(name="p", transformations=(lost, operator))
    (problem,) = find_problems(pipeline, PipelineOptions())
    assert str(problem) == "partition: its input 7 is not a transformation of this pipeline"


REFUSALS: list[tuple[str, Callable[[Environment], object], list[str]]] = [
    (
        "template in an expression",
        lambda env: env.from_source(Csv("/in"), "in").filter("day = '{{ params.day }}'").name("today"),
        [
            "today: the expression 'day = '{{ params.day }}'' contains the template {{ params.day }}",
            "allowed: templates in paths and connector options; parameters in expressions",
            "hint: declare it in the pipeline's params and write :day, which is bound as a value",
        ],
    ),
    (
        "unknown side output",
        lambda env: (
            env.from_source(Csv("/in"), "in").filter("x", rejects="late").name("f").get_side_output("lat").filter("y")
        ),
        ["f: it has no side output 'lat'", "allowed: late", "hint: did you mean 'late'?"],
    ),
    (
        "parallelism of zero",
        lambda env: env.from_source(Csv("/in"), "in").filter("x").name("f").set_parallelism(0),
        ["f: parallelism is 0", "allowed: a whole number from 1 to 32768, or unset"],
    ),
    (
        "an empty expression",
        lambda env: env.from_source(Csv("/in"), "in").filter(" ").name("f"),
        ["f: it has an empty expression", "allowed: Spark SQL"],
    ),
    (
        "no columns",
        lambda env: env.from_source(Csv("/in"), "in").key_by("k").aggregate().name("f"),
        ["f: it has no columns", 'allowed: at least one, by name: flights="count(*)"'],
    ),
    (
        "two sinks with one target",
        lambda env: [env.from_source(Csv("/in"), "in").sink_to(Parquet(path)).name(path) for path in ("/out", "/out/")],
        [
            "/out/: it writes /out, and '/out' writes /out",
            "hint: give each its own target; union(…) combines two streams into one sink",
        ],
    ),
    (
        "a sink inside the folder of another, in whatever mode",
        lambda env: [
            env.from_source(Csv("/in"), "in").sink_to(Parquet(path), mode="append").name(name)
            for name, path in (
                ("all", "file:///{{ params.out }}"),
                ("beside", "/{{ params.out }}_x"),
                ("late", "/{{ params.out }}//late/"),
            )
        ],
        [
            "all: parameter 'out' is not declared",
            "allowed: run_date",
            "hint: declare it in the pipeline's params",
            "beside: parameter 'out' is not declared",
            "allowed: run_date",
            "hint: declare it in the pipeline's params",
            "late: parameter 'out' is not declared",
            "allowed: run_date",
            "hint: declare it in the pipeline's params",
            "late: it writes /{{ params.out }}/late, and 'all' writes /{{ params.out }}",
            "hint: give each its own target; union(…) combines two streams into one sink",
        ],
    ),
    (
        "forward with another parallelism",
        lambda env: env.from_source(Csv("/in"), "in").forward().filter("x").name("f").set_parallelism(2),
        [
            "f: forward partitioning does not allow change of parallelism: 'in' has 1, 'f' has 2",
            "hint: use rebalance() or rescale() between them, or set the same parallelism",
        ],
    ),
    (
        "a sink that replaces a source",
        lambda env: env.from_source(Parquet("/same"), "in").sink_to(Parquet("/same")).name("out"),
        [
            "out: it replaces /same, and 'in' reads /same",
            "hint: write elsewhere: a retry would read what the first attempt wrote. from_target(…) reads what was "
            "there before the run",
        ],
    ),
    (
        "a sink that cannot be written",
        lambda env: env.from_source(Csv("/in"), "in").sink_to(Range(0, 9)).name("out"),
        [
            "out: Range can only be read",
            "allowed: Parquet, Orc, Csv, Json, Text, Files, Jdbc with a table, Iceberg, Delta, Table, FunctionSink",
        ],
    ),
    (
        "a task id Airflow refuses",
        lambda env: env.from_source(Csv("/in"), "in").sink_to(Parquet("/out")).name("out").task_id("a b"),
        ["out: its task_id is 'a b'", "allowed: letters, digits, '_', '-' and '.', at most 250 of them"],
    ),
]


@pytest.mark.parametrize(("declare", "expected"), [case[1:] for case in REFUSALS], ids=[case[0] for case in REFUSALS])
def test_invalid_declarations_are_refused(
    env: Environment, declare: Callable[[Environment], object], expected: list[str]
) -> None:
    declare(env)
    found = words(env)[1:]
    found = [re.sub(r" \(/.*\)$", "", line) for line in found]
    assert found == expected


@pytest.mark.parametrize(
    ("expression", "literal"),
    [
        ("t < TIMESTAMP 'now'", "TIMESTAMP 'now"),
        ("d = date'Today'", "date'Today"),
        ("t < TIMESTAMP_NTZ ' yesterday'", "TIMESTAMP_NTZ ' yesterday"),
    ],
)
def test_a_literal_of_the_parsers_clock_is_refused(env: Environment, expression: str, literal: str) -> None:
    env.from_source(Csv("/in"), "in").filter(expression).name("f").sink_to(Parquet("/out"))
    assert words(env)[1] == f"f: the literal {literal}' gets its value when Spark parses it"


@pytest.mark.parametrize("expression", ["state = 'now'", "DATE '2013-01-01' < d", "today = 'x'"])
def test_other_literals_are_not_refused(env: Environment, expression: str) -> None:
    env.from_source(Csv("/in"), "in").filter(expression).sink_to(Parquet("/out"))
    assert env.get_stream_graph() is not None


def test_a_regular_expression_with_braces_is_not_a_template(env: Environment) -> None:
    env.from_source(Csv("/in"), "in").filter("tailnum RLIKE '[{#%]+'").sink_to(Parquet("/out"))
    env.get_stream_graph()


def test_all_problems_are_reported_at_once_with_their_lines(env: Environment) -> None:
    stream = env.from_source(Csv("/in"), "in").filter("x").name("f").set_parallelism(-1)
    stream.sink_to(Range(0, 9)).name("out")
    with pytest.raises(InvalidPipelineError) as refusal:
        env.get_stream_graph()
    assert [problem.operator for problem in refusal.value.problems] == ["f", "out"]
    assert str(refusal.value).count(f"declared at {__file__}:") == 2


def test_parallelism_over_its_maximum_is_refused_by_the_execution_graph() -> None:
    env = StreamExecutionEnvironment("p", config={"pipeline.max-parallelism": 10, "parallelism.default": 50})
    env.from_source(Csv("/in"), "in").sink_to(Parquet("/out")).name("out")
    with pytest.raises(
        InvalidPipelineError, match="Source: in -> Sink: out: parallelism 50 is higher than its maximum of 10"
    ):
        compile_pipeline(env.pipeline())


def test_a_misspelled_parameter_is_found_in_paths_and_expressions() -> None:
    env = StreamExecutionEnvironment("p", params={"input": "/in", "least": 1})
    source = env.from_source(Csv("{{ params.inptu }}/x.csv"), "in")
    source.filter("x > :leest AND y = ':no' AND v:field = 1 AND a::int = 2").name("f").sink_to(Parquet("/out"))
    assert words(env)[1:] == [
        "in: parameter 'inptu' is not declared",
        "allowed: input, least and run_date",
        "hint: did you mean 'input'?",
        "f: parameter 'leest' is not declared",
        "allowed: input, least and run_date",
        "hint: did you mean 'least'?",
    ]


def test_an_unknown_partitioner_is_refused() -> None:
    source = StreamExecutionEnvironment("p").from_source(Csv("/in"), "in")
    source.environment.add(PartitionTransformation(id=2, inputs=(1,), partitioner="hsah"))  # type: ignore[arg-type]
    operator = OneInputTransformation(
        id=3, inputs=(2,), name="f", operator=Filter("x"), chaining_strategy=ChainingStrategy.ALWAYS
    )
    source.environment.add(operator)
    assert words(source.environment)[1].startswith("partition: 'hsah' is not a partitioner")


def test_problems_of_one_place_keep_their_order_in_every_process(env: Environment) -> None:
    env.from_source(Csv("/in"), "in").sink_to(Parquet("/out"))
    missing = [Problem(message="is missing", key=f"key{number}") for number in range(9)]
    assert all_problems(IncompletePipelineError("p", missing, declared=env.pipeline())) == tuple(missing)
