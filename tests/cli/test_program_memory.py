"""Python's garbage collector in programs of ours: idle while they load modules, at work while they work."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = [
    *sorted(
        path.relative_to(ROOT)
        for path in (ROOT / "plugins" / "graph_compiler").rglob("*.py")
        if "gc.disable()" in path.read_text() and path.stem != "program_memory"
    )
]
ASKED = """
import gc
gc.disable()
usual = gc.get_threshold()
from graph_compiler.program_memory import modules_are_loaded
modules_are_loaded(loads_more={})
print(gc.isenabled(), gc.get_freeze_count() > 0, gc.get_threshold() == usual)
"""
COMMAND = """
import gc, sys
from graph_compiler.cli import app
app.app = lambda **_: print(gc.isenabled(), gc.get_freeze_count() > 0)
from graph_compiler.__main__ import main
main()
"""


@pytest.mark.parametrize(("loads_more", "found"), [(True, "True True False"), (False, "True True True")])
def test_what_is_loaded_is_not_collected_and_what_comes_later_is(loads_more: bool, found: str) -> None:
    assert _said(ASKED.format(loads_more)) == found


def test_a_command_has_a_collector() -> None:
    assert _said(COMMAND) == "True True"


def test_each_program_that_turns_the_collector_off_turns_it_on_again() -> None:
    assert len(PROGRAMS) > 3
    without = [path for path in PROGRAMS if "    modules_are_loaded(" not in (ROOT / path).read_text()]
    assert without == []


def _said(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
