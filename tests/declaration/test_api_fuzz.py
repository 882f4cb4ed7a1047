"""Whatever is passed to the Python API: it compiles, or is refused with a clear message; no other error is raised."""

import inspect
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graph_compiler import (
    Csv,
    Parquet,
    Range,
    ResourceSpec,
    Secret,
    SlotSharingGroup,
    StreamExecutionEnvironment,
    TumblingEventTimeWindows,
    Values,
)
from graph_compiler.compiler.checks.validation import all_problems
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.pipeline import IncompletePipelineError
from graph_compiler.declaration.refusals.collected import collecting_refusals
from graph_compiler.declaration.streams import ConnectedStreams, DataStream, KeyedStream, WindowedStream
from graph_compiler.deployment.describe.region_descriptors import describe_pipeline
from graph_compiler.errors import GraphCompilerError, InvalidPipelineError
from graph_compiler.options.model import PipelineOptions
from graph_compiler.options.reader import read_options
from graph_compiler.projects.yaml.vocabulary import CONNECTORS, WINDOWS

KINDS_OF_CONNECTORS = [call.of for call in CONNECTORS.values()]
KINDS_OF_WINDOWS = [call.of for call in WINDOWS.values()]
EVERY = settings(max_examples=250, suppress_health_check=list(HealthCheck))
LONG = settings(max_examples=5_000, suppress_health_check=list(HealthCheck))


def module_level(rows: object) -> object:
    return rows


class Odd:
    """A value that cannot even be shown."""

    def __repr__(self) -> str:
        raise ValueError("odd")


STREAM, FOREIGN, SINK = "<a stream>", "<a stream of another environment>", "<a sink>"
TEXTS = (
    "a",
    "b",
    "",
    " ",
    "x > 0",
    ":p",
    "x = :p",
    "{{ params.p }}",
    "{{",
    "SELECT * FROM {input}",
    "1 hour",
    "\0",
    "😀",
    "{}",
)
WORDS = (
    "inner",
    "cross",
    "append",
    "merge",
    "overwrite-partitions",
    "fail",
    "arrow",
    "DISK_ONLY",
    "sum",
    "INT",
    "a INT",
)
NUMBERS = (0, 1, 2, -1, 0.5, 1.5, float("nan"), float("inf"), 10**30, True, False)
OTHERS: tuple[object, ...] = (
    None,
    b"x",
    (),
    [],
    ["a"],
    ("a", "b"),
    [1],
    {},
    {"a": "b"},
    {"a": 1},
    {1: "b"},
    {"a"},
    object(),
    int,
    print,
    lambda rows: rows,
    module_level,
)
OURS = (
    Csv("/in"),
    Parquet("/out"),
    Parquet("{{ params.p }}"),
    Range(0, 9),
    Values([(1,)], "a INT"),
    Secret("c"),
    Secret(""),
    ResourceSpec(cpu_cores=1, memory="1g"),
    ResourceSpec(cpu_cores=-1, memory="x"),
    SlotSharingGroup("g"),
    SlotSharingGroup("g", driver_memory="1g"),
    TumblingEventTimeWindows("t", "1 hour"),
    TumblingEventTimeWindows("t", 3),  # type: ignore[arg-type]
)
anything = st.sampled_from([*TEXTS, *TEXTS, *WORDS, *NUMBERS, *OTHERS, *OURS, STREAM, STREAM, STREAM, FOREIGN, SINK])
argument = anything | st.just(Odd())
KINDS = (DataStream, KeyedStream, WindowedStream, ConnectedStreams)
METHODS = sorted(
    {
        name
        for kind in KINDS
        for name, _ in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_") and name != "refuse"
    }
)
NAMES = sorted(
    {
        parameter
        for kind in KINDS
        for name in METHODS
        if hasattr(kind, name)
        for parameter in inspect.signature(getattr(kind, name)).parameters
        if parameter != "self"
    }
)
Call = tuple[str, Sequence[object], dict[str, object]]
calls = st.lists(
    st.tuples(
        st.sampled_from(METHODS),
        st.lists(argument, max_size=3),
        st.dictionaries(st.sampled_from(NAMES), anything, max_size=2),
    ),
    max_size=6,
)


def declare(program: Sequence[Call]) -> StreamExecutionEnvironment:
    """Make calls, each on the result of the previous one, if it has any."""
    env = StreamExecutionEnvironment("p", params={"p": 1})
    source = env.from_source(Csv("/in"), "in")
    values: dict[object, object] = {
        STREAM: source,
        FOREIGN: StreamExecutionEnvironment("q").from_source(Csv("/in"), "in"),
        SINK: source.sink_to(Parquet("/sink")),
    }

    def given_value(value: object) -> object:
        return values[value] if isinstance(value, str) and value in values else value

    on: Any = source
    for name, arguments, named in program:
        method = getattr(on, name, None) or getattr(source, name, None)
        if method is None:
            continue
        with suppress(GraphCompilerError):
            on = method(*map(given_value, arguments), **{key: given_value(value) for key, value in named.items()})
            values[STREAM] = on if isinstance(on, DataStream) else values[STREAM]
    return env


def compiles_or_is_refused(env: StreamExecutionEnvironment) -> None:
    problems = []
    try:
        describe_pipeline(compile_pipeline(env.pipeline()))
    except GraphCompilerError as error:
        problems.append(str(error))
    assert all(problems)


def check_calls(program: Sequence[Call]) -> None:
    compiles_or_is_refused(declare(program))
    with collecting_refusals() as refused:
        env = declare(program)
    if refused:
        error = IncompletePipelineError("p", refused, declared=env.pipeline())
        assert str(InvalidPipelineError("p", all_problems(error)))


def check_connector(kind: Callable[..., Any], arguments: dict[str, Any], mode: Any) -> None:
    env = StreamExecutionEnvironment("p")
    try:
        made = kind(**arguments)
    except GraphCompilerError:
        return
    with suppress(GraphCompilerError):
        if kind in KINDS_OF_WINDOWS:
            env.from_source(Csv("/in"), "in").window_all(made).aggregate(n="count(*)")
        else:
            env.from_source(made, "in").sink_to(Parquet("/out"))
            env.from_source(Csv("/in"), "csv").sink_to(made, mode=mode)
    compiles_or_is_refused(env)


@st.composite
def connectors(draw: st.DrawFn) -> tuple[Callable[..., Any], dict[str, Any], Any]:
    kind = draw(st.sampled_from([*KINDS_OF_CONNECTORS, *KINDS_OF_WINDOWS, ResourceSpec, SlotSharingGroup]))
    arguments = {
        name: draw(anything)
        for name, parameter in inspect.signature(kind).parameters.items()
        if parameter.default is parameter.empty or draw(st.integers(0, 3)) == 0
    }
    return kind, arguments, draw(st.sampled_from(["overwrite", "append", "merge"]))


OPTIONS = sorted(str(field.alias) for field in PipelineOptions.model_fields.values())
config = st.dictionaries(
    st.sampled_from(OPTIONS) | st.text(max_size=8),
    anything | st.text(max_size=8) | st.integers().map(lambda n: f"{n} s"),
    max_size=5,
)


def check_config(options: dict[Any, Any]) -> None:
    texts = [(key, value) for key, value in options.items() if isinstance(value, str)]
    read_options(texts)
    with suppress(GraphCompilerError):
        env = StreamExecutionEnvironment("p", config=options)
        env.from_source(Csv("/in"), "in").sink_to(Parquet("/out"))
        compiles_or_is_refused(env)


@EVERY
@given(calls)
def test_any_calls_give_a_pipeline_or_a_clear_error(program: list[Call]) -> None:
    check_calls(program)


@EVERY
@given(connectors())
def test_any_connector_is_accepted_or_refused_clearly(made: tuple[Callable[..., Any], dict[str, Any], Any]) -> None:
    check_connector(*made)


@EVERY
@given(config)
def test_any_options_are_accepted_or_refused_clearly(options: dict[Any, Any]) -> None:
    check_config(options)


@pytest.mark.long
@LONG
@given(calls, connectors(), config)
def test_many_random_declarations(
    program: list[Call], made: tuple[Callable[..., Any], dict[str, Any], Any], options: dict[Any, Any]
) -> None:
    check_calls(program)
    check_connector(*made)
    check_config(options)
