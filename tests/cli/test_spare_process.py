"""Processes that wait for a job: what they do is what a new process would do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from graph_compiler.cli.running.spare_process import Spare
from tests.harness.waiting import wait_until

PREPARED = """
import os

VALUE = 1

def at_start(value):
    if os.path.exists("edited"):
        os.replace("edited", __file__)
    with open("prepared", "w") as file:
        file.write(f"{value} {__name__}")
"""
JOB = """
import os, sys
import colorsys, imported_before, own
print(own.VALUE, imported_before.VALUE, hasattr(colorsys, "OURS"))
print(__name__, sys.argv[1:], os.path.basename(sys.argv[0]))
print(os.getsid(0) == os.getpid(), os.path.basename(sys.path[0]), file=sys.stderr, flush=True)
sys.exit(own.VALUE)
"""
BEFORE = ("colorsys", "imported_before")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which commands run: with a job, and modules."""
    for name, text in {"imported_before.py": PREPARED, "own.py": "VALUE = 1\n", "job.py": JOB}.items():
        (tmp_path / name).write_text(text)
        os.utime(tmp_path / name, (1, 1))
    time.sleep(0.2)  # what has just changed is imported again
    monkeypatch.chdir(tmp_path)
    return tmp_path


def is_known(project: Path) -> None:
    """Nothing changes that it has imported."""
    (project / "own.py").write_text("VALUE = 5\n")


def is_edited(project: Path) -> None:
    (project / "imported_before.py").write_text("VALUE = 7\n")


def is_replaced(project: Path) -> None:
    """Another file of the same size and time."""
    (project / "other").write_text(PREPARED.replace("1", "8", 1))
    os.utime(project / "other", (1, 1))
    (project / "other").replace(project / "imported_before.py")


def is_edited_meanwhile(project: Path) -> None:
    """It changes between its import and the end of all imports."""
    assert "VALUE = 9" in (project / "imported_before.py").read_text()


def is_shadowed(project: Path) -> None:
    """The project has a module of a name that it has imported from elsewhere."""
    (project / "colorsys.py").write_text("OURS = True\n")


@pytest.mark.parametrize("change", [is_known, is_edited, is_replaced, is_edited_meanwhile, is_shadowed])
@pytest.mark.parametrize("is_program", [False, True])
def test_a_job_is_done_as_by_a_new_process(
    change: Callable[[Path], None],
    is_program: bool,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    if is_program:
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(project), *filter(None, sys.path)]))
    if change is is_edited_meanwhile:
        (project / "edited").write_text("VALUE = 9\n")
    spare = Spare.start(BEFORE, os.environ, is_program=is_program, at_start={"a": 1})
    wait_until((project / "prepared").exists)
    change(project)
    if is_program:
        process = spare.run_program(project / "job.py", "word", project / "output")
        code = process.wait(30)
        found = (project / "output").read_text()
        cold = subprocess.run(
            [sys.executable, "job.py", "word"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            start_new_session=True,
        )
        wanted = cold.stdout
    else:
        code = spare.run_module("job", ["word"]).wait(30)
        found = "".join(capfd.readouterr())
        cold = subprocess.run([sys.executable, "-m", "job", "word"], text=True, check=False)
        wanted = "".join(capfd.readouterr())
    assert (code, found) == (cold.returncode, wanted)
    assert found.count("\n") == 3


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("seconds", [0, 0.02, 0.04, 0.08, None])
def test_it_ends_without_a_word_at_ctrl_c(
    seconds: float | None, project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """`seconds` is when, None for a process that waits."""
    spare = Spare.start(BEFORE, os.environ, at_start=1)
    if seconds is None:
        wait_until((project / "prepared").exists)
    else:
        time.sleep(seconds)
    spare.process.send_signal(signal.SIGINT)
    assert spare.process.wait(30) == -signal.SIGINT
    spare.run_module("job", [])  # whoever gives it a job sees its exit code
    assert "".join(capfd.readouterr()) == ""


@pytest.mark.usefixtures("project")
def test_it_ends_if_its_parent_does(capfd: pytest.CaptureFixture[str]) -> None:
    spare = Spare.start(BEFORE, os.environ)
    os.close(spare.jobs)
    assert spare.process.wait(30) == 0
    assert "".join(capfd.readouterr()) == ""
