"""docs/migrate.md shows code that is in its example, and what it says is around a script can be declared."""

import ast
import re
from pathlib import Path
from textwrap import dedent

import pytest

import graph_compiler
from graph_compiler import StreamExecutionEnvironment, Values
from graph_compiler.testing import CompiledPlan
from tests.harness.script_tables import PAGE, lines_of

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "tests/migration"
STEPS = ("before", "step_1", "step_2", "step_3")


def statements(source: str) -> set[str]:
    """Return all statements of a text, at any depth, whatever their layout."""
    return {ast.dump(node) for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt)}


def section(step: str) -> str:
    """Return the part of the page about a step."""
    title = step.replace("_", " ").capitalize()
    (found,) = re.findall(rf"^## {title}.*?(?=^## )", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return str(found)


@pytest.mark.parametrize("step", STEPS)
def test_the_code_of_each_step_is_in_its_files(step: str) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", section(step), re.MULTILINE | re.DOTALL)
    assert blocks
    sources = [file.read_text() for file in (EXAMPLE / step).rglob("*.py")]
    code = set[str]().union(*map(statements, sources))
    for block in blocks:
        assert {ast.dump(statement) for statement in ast.parse(dedent(block)).body} <= code, block


def test_there_is_no_other_code() -> None:
    blocks = sum(section(step).count("```python") for step in STEPS)
    assert PAGE.read_text().count("```") == 2 * blocks


def test_scripts_and_arguments_that_no_step_changes_are_the_same() -> None:
    for script in ("customer_ranking", "daily_revenue", "order_history", "shop_common"):
        before, after = (EXAMPLE / step / f"scripts/{script}.py" for step in ("before", "step_1"))
        assert before.read_text() == after.read_text()


@pytest.mark.parametrize("call", [line.call for line in lines_of("around")])
def test_what_was_around_a_script_can_be_declared(call: str, tmp_path: Path) -> None:
    names = {name: getattr(graph_compiler, name) for name in graph_compiler.__all__}
    env = StreamExecutionEnvironment("sales")
    (tmp_path / "a.jar").touch()
    (tmp_path / "codes.csv").touch()
    paths = {"jar": str(tmp_path / "a.jar"), "file": str(tmp_path / "codes.csv")}
    value = eval(call, {**names, **paths, "env": env})
    env = value if isinstance(value, StreamExecutionEnvironment) else env
    rows = env.from_source(Values([(1,)], "n INT"), "rows")
    if isinstance(value, graph_compiler.SlotSharingGroup):
        rows.slot_sharing_group(value)
    rows.sink_to(graph_compiler.Parquet("/out/rows"))
    assert len(CompiledPlan.of(env).tasks) == 1
