"""Follow a run in another process: a live table on a terminal, a line for each change elsewhere."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from rich.console import Console
from rich.live import Live

from graph_compiler.cli.running.finished_run import Executions, TaskWords
from graph_compiler.cli.running.run_view import progress_line, task_table
from graph_compiler.cli.running.signals import ended_as_by_ctrl_c
from graph_compiler.cli.running.stream_lines import StreamLines

POLL_SECONDS = 0.2
RARITY = 10
"""Looks become rarer if one takes long: a root in an object store is asked for each document."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """A run in progress. `look` returns the executions so far, `step` what is done or waited for, if that is known.

    `starting` names the program that starts before there are any.
    """

    pipeline: str
    tasks: Sequence[TaskWords]
    process: subprocess.Popen[bytes]
    started: float
    starting: str
    look: Callable[[], Executions]
    step: Callable[[Executions], str | None]
    batches: StreamLines | None = None
    """Those of its stream, if it has one."""
    meanwhile: Callable[[], None] = lambda: None
    """What is done once, while the program starts, which takes one core."""


def follow_run(run: Followed, console: Console) -> Executions:
    """Show progress until the process ends. The process is always ended with this one.

    A stream whose driver runs ends behind its batch at the first Ctrl-C, and at once at the second.
    """
    with ended_as_by_ctrl_c():
        try:
            try:
                found = _watch(run, console)
            except KeyboardInterrupt:
                if run.batches is None or not run.batches.request_stop():
                    raise
                console.print("it ends behind the batch in progress; Ctrl-C again ends it at once", highlight=False)
                found = _watch(run, console)
        except BaseException:  # Ctrl-C above all: Spark must not outlive the command
            with suppress(ProcessLookupError):  # it has already ended
                os.killpg(run.process.pid, signal.SIGTERM)
            run.process.wait()
            raise
    console.print(task_table(run.pipeline, run.tasks, found, _elapsed(run)))
    return found


def _watch(run: Followed, console: Console) -> Executions:
    shown: dict[str, str] = {}
    if not console.is_terminal:
        console.print(f"{_elapsed(run):6.1f} s  starting {run.starting}", highlight=False)
    live = Live(console=console, refresh_per_second=4, transient=True) if console.is_terminal else None
    if live:
        live.start()
    try:
        run.meanwhile()
        while True:
            ended, began = run.process.poll() is not None, time.monotonic()
            found = run.look()
            step = run.step(found)
            looked = time.monotonic() - began
            for line in run.batches.new() if run.batches is not None else ():
                console.print(f"{_elapsed(run):6.1f} s  {line}", highlight=False, soft_wrap=True)
            if live:
                table = task_table(run.pipeline, run.tasks, found, _elapsed(run), starting=run.starting, step=step)
                live.update(table)
            else:
                lines: list[tuple[str, str | None]] = [
                    (task.id, progress_line(task.id, found[task.id])) for task in run.tasks
                ]
                _print_new_lines(run, [*lines, ("", step)], shown, console)
            if ended:
                return found
            time.sleep(max(POLL_SECONDS, RARITY * looked))
    finally:
        if live:
            live.stop()


def _print_new_lines(
    run: Followed, lines: Sequence[tuple[str, str | None]], shown: dict[str, str], console: Console
) -> None:
    """Print the new lines."""
    for key, line in lines:
        if line and shown.get(key) != line:
            shown[key] = line
            console.print(f"{_elapsed(run):6.1f} s  {line}", highlight=False, soft_wrap=True)


def _elapsed(run: Followed) -> float:
    return time.time() - run.started
