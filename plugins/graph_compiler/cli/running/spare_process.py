"""Processes that have imported our modules, and wait for a job: with --watch, commands answer sooner.

    a command's process ── starts ──▶ spare: imports, waits ── a job ──▶ runs it, as a new process would
                                                        └─ closed ──▶ ends

A spare has imported nothing of a project before its job comes. If a file that it has imported has changed, or the
project has a module of the same name now, it begins again as a new process, and does its job.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_JOB = "GRAPH_COMPILER_SPARE_JOB"
"""The job of a spare that has begun again."""
_CTRL_C = {signal.SIGINT}
_TICK = 100_000_000
"""By how many nanoseconds the clock of files may be behind."""


@dataclass(frozen=True, slots=True)
class Spare:
    """A process that waits. `environment` is its own, and `jobs` the descriptor to which its job is written."""

    process: subprocess.Popen[bytes]
    environment: Mapping[str, str]
    jobs: int

    @classmethod
    def start(
        cls,
        modules: Sequence[str],
        environment: Mapping[str, str],
        *,
        is_program: bool = False,
        pass_fds: Sequence[int] = (),
        at_start: object = None,
    ) -> Spare:
        """Let a process import modules; `at_start` of the last one is called with the value, unless that is None.

        `is_program`: its job will be a file, and not a module. Then it has a session of its own, and the folder in
        which it runs is not on its import path.
        """
        reading, writing = os.pipe()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _CTRL_C)  # until it can end by it
        try:
            process = subprocess.Popen(
                [sys.executable, *(["-P"] if is_program else []), "-m", __name__, str(reading), *modules],
                env=environment,
                start_new_session=is_program,
                pass_fds=(reading, *pass_fds),
            )
        finally:
            os.close(reading)
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        spare = cls(process, dict(environment), writing)
        spare._say(at_start)
        return spare

    def run_module(self, name: str, arguments: Sequence[str]) -> subprocess.Popen[bytes]:
        """Let it run a module as `python -m` does; return its process."""
        return self._given({"module": name, "arguments": [*arguments]})

    def run_program(self, program: Path, argument: str, output: Path) -> subprocess.Popen[bytes]:
        """Let it run a file as `python FILE` does, and write what it prints to another; return its process."""
        return self._given({"program": str(program), "arguments": [argument], "output": str(output)})

    def end(self) -> None:
        """End it at once; it has no job."""
        os.close(self.jobs)
        self.process.kill()
        self.process.wait()

    def _given(self, job: Mapping[str, Any]) -> subprocess.Popen[bytes]:
        self._say(job)
        os.close(self.jobs)
        return self.process

    def _say(self, document: object) -> None:
        with suppress(BrokenPipeError):  # it has died, as its exit code says
            os.write(self.jobs, json.dumps(document).encode() + b"\n")


def main() -> None:
    """Import modules, wait for a job, and do it."""
    if (again := os.environ.pop(_JOB, None)) is not None:
        _do(json.loads(again))
        return
    at_ctrl_c = signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _CTRL_C)
    began, names = time.time_ns() - _TICK, _names()
    with os.fdopen(int(sys.argv[1]), "rb") as pipe:
        prepared = pipe.readline()
        modules = [importlib.import_module(name) for name in sys.argv[2:]]
        if (value := json.loads(prepared or b"null")) is not None:
            modules[-1].at_start(value)
        known = _files()
        job = json.loads(pipe.readline() or b"null")
    if job is None:
        return
    signal.signal(signal.SIGINT, at_ctrl_c)
    is_same = _files() == known and max(changed for *_, changed in known.values()) < began
    if not is_same or not (_names() - names).isdisjoint(sys.modules):
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, _JOB: json.dumps(job)})
    _do(job)


def _do(job: Mapping[str, Any]) -> None:
    arguments = job["arguments"]
    if (module := job.get("module")) is not None:
        sys.argv = [module, *arguments]
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        return
    with open(job["output"], "wb") as output:
        for standard in (1, 2):
            os.dup2(output.fileno(), standard)
    program = job["program"]
    sys.argv = [program, *arguments]
    sys.path.insert(0, os.path.dirname(program))
    runpy.run_path(program, run_name="__main__")


def _files() -> dict[str, tuple[int, int, int]]:
    """Return the files of all modules: inode, size, and when each changed or was renamed, in nanoseconds; 0 if gone."""
    found = {}
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str):
            try:
                state = os.stat(file)
            except OSError:
                found[file] = (0, 0, 0)
            else:
                found[file] = (state.st_ino, state.st_size, state.st_ctime_ns)
    return found


def _names() -> set[str]:
    """Return the names of modules that the folders of the import path may have, but for those of installed packages."""
    found = set()
    for folder in sys.path:
        if not folder.startswith((sys.prefix, sys.base_prefix)) and os.path.isdir(folder or "."):
            found |= {name.partition(".")[0] for name in os.listdir(folder or ".")}
    return found


if __name__ == "__main__":
    main()
