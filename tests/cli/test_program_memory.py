"""Python's garbage collector in programs of ours: idle while they load modules, at work while they work."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted(
    path.relative_to(ROOT)
    for path in (ROOT / "plugins" / "graph_compiler").rglob("*.py")
    if "gc.disable()" in path.read_text() and path.stem != "program_memory"
)
DRIVER = """
import gc
gc.disable()
usual = gc.get_threshold()
from graph_compiler.spark_runtime.driver_process import begin_process
begin_process()
print(gc.isenabled(), gc.get_freeze_count() > 0, gc.get_threshold() == usual)
"""
COMMAND = """
import gc
usual = gc.get_threshold()
from graph_compiler.cli import app
app.app = lambda **_: print(gc.isenabled(), gc.get_freeze_count() > 0, gc.get_threshold() == usual)
from graph_compiler.__main__ import main
main()
"""


def test_a_user_s_function_finds_the_collector_as_it_is() -> None:
    assert _said(DRIVER) == "True True True"


def test_a_command_has_a_collector() -> None:
    assert _said(COMMAND) == "True True False"


def test_each_program_that_turns_the_collector_off_turns_it_on_again() -> None:
    assert len(PROGRAMS) > 3
    on_again = re.compile(r"^ +(modules_are_loaded|begin_process)\(\)$", re.MULTILINE)
    without = [path for path in PROGRAMS if not on_again.search((ROOT / path).read_text())]
    assert without == []


def _said(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
