"""Declared values report problems in one way, and a problem gets its operator's name and line."""

import ast
from pathlib import Path

import pytest

import graph_compiler
from graph_compiler import ResourceSpec, SlotSharingGroup, StreamExecutionEnvironment
from graph_compiler.declaration.call_checks import Checked, problems_at
from graph_compiler.declaration.connectors import Csv, Jdbc, Range, Table, Values
from graph_compiler.declaration.operators import Deduplicate, Drop, Filter, Limit, Sample, TopN, WindowAggregate
from graph_compiler.declaration.windows import TumblingEventTimeWindows

DECLARATION = Path(graph_compiler.__file__).parent / "declaration"
WRONG: list[tuple[Checked, list[str]]] = [
    (Sample(2), ["its fraction is 2, not between 0 and 1"]),
    (Limit(-1), ["it keeps -1 rows"]),
    (TopN(-1, ()), ["it keeps -1 rows", "it has no order"]),
    (Drop(()), ["it names no columns"]),
    (
        WindowAggregate(("k",), TumblingEventTimeWindows("t", "soon"), ()),
        ["the size of its windows is 'soon'", "it has no columns"],
    ),
    (TumblingEventTimeWindows("t", "soon"), ["the size of its windows is 'soon'"]),
    (Csv(" ", on_schema_change="evolve"), ["its path is empty"]),
    (Table("", run_column="a"), ["its name is empty", "run_column is 'a', and attempt_column None"]),
    (Range(0, 3, step=0), ["its step is 0"]),
    (ResourceSpec(cpu_cores=-1, memory="much"), ["cpu_cores is -1", "memory is 'much'"]),
    (SlotSharingGroup("big", executor_cores=0, conf={"x": "1"}), ["executor_cores is 0", "conf has 'x'"]),
]
RIGHT: list[Checked] = [
    Filter("a > 1"),
    Sample(0.5),
    Deduplicate(("k",)),
    Csv("/in"),
    Values([(1,)], "a INT"),
    Jdbc("jdbc:postgresql://h/d", table="t"),
    TumblingEventTimeWindows("t", "1 hour"),
    ResourceSpec(cpu_cores=1, memory="1g"),
    SlotSharingGroup("big", executor_cores=1),
]


@pytest.mark.parametrize(("value", "messages"), WRONG, ids=[repr(value)[:50] for value, _ in WRONG])
def test_a_value_yields_all_its_problems(value: Checked, messages: list[str]) -> None:
    assert isinstance(value, Checked)
    assert [problem.message for problem in value.problems()] == messages


@pytest.mark.parametrize("value", RIGHT, ids=[repr(value)[:50] for value in RIGHT])
def test_a_valid_value_yields_no_problem(value: Checked) -> None:
    assert isinstance(value, Checked)
    assert list(value.problems()) == []


def test_a_problem_gets_the_name_and_the_line_of_its_operator() -> None:
    env = StreamExecutionEnvironment("pipeline")
    env.from_source(Csv("/in"), "rows").sink_to(Csv("/out"))
    source = env.pipeline().operators[0]
    (problem,) = problems_at(source, Sample(2))
    assert (problem.operator, problem.declared_at) == ("rows", source.declared_at)
    assert problem.message == "its fraction is 2, not between 0 and 1"
    assert source.declared_at is not None


def test_methods_that_find_problems_have_one_form() -> None:
    found = {
        (node.name, ast.unparse(node.returns))
        for module in DECLARATION.rglob("*.py")
        for kind in ast.walk(ast.parse(module.read_text()))
        if isinstance(kind, ast.ClassDef)
        for node in kind.body
        if isinstance(node, ast.FunctionDef) and node.returns and not node.name.startswith("_")
        if "Problem" in ast.unparse(node.returns)
    }
    names = ("problems", "rendering_problems", "bounded_problems", "unbounded_problems", "column_problems")
    assert found == {(name, "Iterator[Problem]") for name in names}
