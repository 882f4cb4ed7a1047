"""`graph-compiler run`: start Airflow, follow the tasks, show what came out."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from shutil import which

from rich.console import Console
from rich.live import Live
from rich.text import Text

from graph_compiler.cli.embedded_airflow import EmbeddedAirflow
from graph_compiler.cli.run_view import (
    contracts_table,
    failure_words,
    outputs_table,
    preview_table,
    progress_line,
    task_table,
)
from graph_compiler.declaration.parameters import ParameterValue
from graph_compiler.declaration.project import PACKAGE
from graph_compiler.deployment.executions import RegionExecution, executions
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.identifiers import RegionId, path_segment

POLL_SECONDS = 0.2
Executions = dict[RegionId, tuple[RegionExecution, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What the user asked for."""

    compiled: CompiledPipeline
    day: str
    params: Mapping[str, ParameterValue]
    preview_sorted_by: str | None


def follow_run(run: Run, airflow: EmbeddedAirflow) -> bool:
    """Run to the end, showing progress; True when every task finished."""
    console = Console()
    log = airflow.home / "logs" / f"run-{run.compiled.pipeline.name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("")
    with console.status("preparing Airflow's database (the first time only)"):
        airflow.prepare(log)
    runs = airflow.staging_root / path_segment(run.compiled.pipeline.name)
    known = set(_entries(runs))
    started = time.time()
    process = airflow.start_test_run(run.compiled.pipeline.name, run.day, run.params, log)
    try:
        found = _follow(run, runs, known, process, console, started)
    except BaseException:  # Ctrl-C above all: Spark must not outlive the command
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()
        raise
    console.print(task_table(run.compiled, found, elapsed=time.time() - started))
    if process.returncode == 0:
        _show_results(run, found, console, log)
    else:
        console.print(Text(failure_words(run.compiled, found, log)), soft_wrap=True)
    return process.returncode == 0


def _follow(
    run: Run,
    runs: Path,
    known: set[Path],
    process: subprocess.Popen[bytes],
    console: Console,
    started: float,
) -> Executions:
    """Watch the run's folder until Airflow ends; a live table on a terminal, a line for each change elsewhere."""
    regions = [region.id for region in run.compiled.deployment.regions]
    shown: dict[RegionId, str] = {}
    live = (
        Live(console=console, refresh_per_second=4, transient=True) if console.is_terminal else None
    )
    if live:
        live.start()
    try:
        while True:
            ended = process.poll() is not None
            folder = next(iter(sorted(set(_entries(runs)) - known)), None)
            found = {id: executions(folder, id) if folder else () for id in regions}
            if live:
                live.update(task_table(run.compiled, found, elapsed=time.time() - started))
            for id in regions if live is None else []:
                line = progress_line(id, found[id])
                if line and shown.get(id) != line:
                    shown[id] = line
                    console.print(
                        f"{time.time() - started:6.1f} s  {line}", highlight=False, soft_wrap=True
                    )
            if ended:
                return found
            time.sleep(POLL_SECONDS)
    finally:
        if live:
            live.stop()


def _show_results(run: Run, found: Executions, console: Console, log: Path) -> None:
    name = run.compiled.pipeline.name
    console.print(outputs_table(found))
    if (contracts := contracts_table(found)) is not None:
        console.print(contracts)
    preview = preview_table(run.compiled, found, run.preview_sorted_by)
    if preview is not None:
        console.print(preview)
    console.print(f"Logs of Airflow and Spark: {log}", soft_wrap=True, highlight=False)
    program = "graph-compiler" if which("graph-compiler") else ".venv/bin/graph-compiler"
    console.print(
        f"Next:  {program} explain {name}   shows why the cuts are where they are\n"
        f"       edit {PACKAGE}/{name}.py, then run again",
        highlight=False,
    )


def _entries(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []
