"""The README's pipeline compiles to the tasks that the README names."""

import re
from pathlib import Path

from graph_compiler import StreamExecutionEnvironment
from graph_compiler.options.modes import ShuffleMode
from graph_compiler.testing import CompiledPlan

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"


def test_the_pipeline_of_the_readme_becomes_the_tasks_it_names() -> None:
    text = README.read_text()
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    namespace: dict[str, object] = {}
    exec(compile(code, str(README), "exec"), namespace)
    env = namespace["env"]
    assert isinstance(env, StreamExecutionEnvironment)
    (named,) = re.findall(r"becomes two tasks, `(\w+)` and `(\w+)`", text)
    CompiledPlan.of(env).assert_tasks(*named)


def test_the_pipeline_of_the_readme_is_not_taken_for_the_one_that_new_writes() -> None:
    text = README.read_text()
    (declared,) = re.findall(r'StreamExecutionEnvironment\("(\w+)"', text)
    assert declared not in re.findall(r"graph-compiler new (\w+)", text)


def test_the_guide_explains_every_shuffle_mode() -> None:
    rows = re.findall(r"^\| `(.*?)\|", (ROOT / "docs/guide.md").read_text(), re.MULTILINE)
    named = set(re.findall(r"AUTO|ALL_EXCHANGES_\w+", " ".join(rows)))
    assert named == {mode.value for mode in ShuffleMode}


def commands(document: Path) -> list[str]:
    """Return the commands of a document's quickstart, without their comments."""
    (block,) = re.findall(r"## Quickstart\n\n```\n(.*?)```", document.read_text(), re.DOTALL)
    return [line.partition("#")[0].strip() for line in block.splitlines()]


def test_readme_commands_start_the_quickstart_of_the_guide() -> None:
    """`test_quickstart.py` runs the guide's commands, one by one."""
    assert commands(README) == commands(ROOT / "docs/guide.md")[:2]


def test_the_readme_names_the_two_commands_that_are_enough() -> None:
    (sentence,) = re.findall(r"Two commands are enough: (.*?)\. ", README.read_text(), re.DOTALL)
    named = re.findall(r"`make (\w+)`", sentence)
    assert named == ["run", "test"]
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(named) <= set(targets)


def test_the_first_figure_is_that_against_the_pipeline_by_hand() -> None:
    """docs/benchmarks.md has the medians."""
    ours, by_hand, by_step = (float(figure) for figure in re.findall(r"(\d+) s\b", README.read_text())[:3])
    page = (ROOT / "docs/benchmarks.md").read_text()
    measured = {
        name: float(re.findall(rf"\(`{name}`\) \| \d+ \| \d+ \| [\d.]+ \| ([\d.]+)", page)[0])
        for name in ("declared", "hand", "hand-steps")
    }
    assert (ours, by_hand, by_step) == tuple(round(seconds) for seconds in measured.values())


def test_the_readme_is_one_screen() -> None:
    lines = README.read_text().splitlines()
    assert len(lines) <= 70
