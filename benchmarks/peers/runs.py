"""Run one variant through real `spark-submit`s, and return its cost.

Two measures: the whole process tree, and the same without Spark's start (`measured_app`). Some programs leave their
JVM behind when they end (`spark-pipelines`): it becomes a child of this process, and is waited for.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import resource
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers.applications import HERE, VARIANTS, command
from benchmarks.peers.check import Rows, check
from benchmarks.peers.deployed import Application, environment

_PR_SET_CHILD_SUBREAPER = 36
_NOT_KNOWN = dict.fromkeys(("cpu", "wall", "python"), math.nan)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Seconds. `work_…` leave Spark's start and stop out; of `work_cpu`, `python` is the driver's own.

    They are not known (NaN) of a program that is not measured from inside.
    """

    cpu: float
    wall: float
    work_cpu: float
    work_wall: float
    python: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of a variant in one round."""

    round: int
    variant: str
    applications: int
    cost: Cost


def run(variant: str, *, round: int, data: Path, folder: Path) -> tuple[Run, dict[str, Rows]]:
    """Run a variant in a separate folder, and read its sinks; raises RuntimeError if an application or a sink fails."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    work = folder / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    applications = VARIANTS[variant].applications(data, work)
    _wait_for_all()  # a try that was killed
    costs = [_submit(application, data, work) for application in applications]
    sinks = check(work / "out") if VARIANTS[variant].sinks else {}
    if len(sinks) != VARIANTS[variant].sinks:
        raise RuntimeError(f"{variant} wrote {', '.join(sinks) or 'nothing'}")
    shutil.rmtree(work)
    total = Cost(
        cpu=sum(cost.cpu for cost in costs),
        wall=sum(cost.wall for cost in costs),
        work_cpu=sum(cost.work_cpu for cost in costs),
        work_wall=sum(cost.work_wall for cost in costs),
        python=sum(cost.python for cost in costs),
    )
    return Run(round=round, variant=variant, applications=len(costs), cost=total), sinks


def _submit(application: Application, data: Path, work: Path) -> Cost:
    marks, log = work / "marks.json", work / "spark.log"
    measured = command(application, str(HERE / "measured_app.py"), str(marks))
    cpu_before, before = _children_cpu(), time.perf_counter()
    with log.open("wb") as output:
        process = subprocess.Popen(measured, env=environment(data), stdout=output, stderr=output)
        failed = process.wait()
    wall = time.perf_counter() - before
    _wait_for_all()
    if failed:
        raise RuntimeError(f"{' '.join(application)} failed:\n{log.read_text()[-4000:]}")
    work_of = json.loads(marks.read_text()) if marks.exists() else _NOT_KNOWN
    marks.unlink(missing_ok=True)
    return Cost(
        cpu=_children_cpu() - cpu_before,
        wall=wall,
        work_cpu=work_of["cpu"],
        work_wall=work_of["wall"],
        python=work_of["python"],
    )


def _children_cpu() -> float:
    """Return the CPU seconds of all descendants that were waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _wait_for_all() -> None:
    """Wait until no child is left."""
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        return
