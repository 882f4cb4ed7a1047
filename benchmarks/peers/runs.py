"""Run one variant through real `spark-submit`s, and return its cost.

Two measures: the whole process tree, and the same without Spark's start (`measured_app`).
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers.applications import (
    HERE,
    MEMORY,
    PIPELINES,
    VARIANTS,
    Application,
    environment,
)
from benchmarks.peers.check import Rows, check

PROGRAMS = Path(sys.executable).parent
MASTER = "local[2]"
SETTINGS = (
    *("--driver-memory", MEMORY),
    *("--conf", "spark.ui.enabled=false"),
    *("--conf", "spark.sql.shuffle.partitions=8"),
)

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
    """Run a variant in a separate folder, and read its sinks; raises RuntimeError if an application fails."""
    work = folder / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    applications = VARIANTS[variant](data, work)
    costs = [_submit(application, data, work) for application in applications]
    sinks = {} if variant.startswith("start") else check(work / "out")
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
    command = _command(application, marks)
    before = time.perf_counter()
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=environment(data), stdout=output, stderr=output)
        _, status, usage = os.wait4(process.pid, 0)  # with all descendants that were waited for
    wall = time.perf_counter() - before
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(application)} failed:\n{log.read_text()[-4000:]}")
    work_of = json.loads(marks.read_text()) if marks.exists() else _NOT_KNOWN
    marks.unlink(missing_ok=True)
    return Cost(
        cpu=usage.ru_utime + usage.ru_stime,
        wall=wall,
        work_cpu=work_of["cpu"],
        work_wall=work_of["wall"],
        python=work_of["python"],
    )


def _command(application: Application, marks: Path) -> list[str]:
    """Return what is started; an application of spark-submit is measured from inside."""
    program, *words = application
    if program == PIPELINES:
        return [str(PROGRAMS / PIPELINES), *words, "--remote", MASTER, *SETTINGS]
    script = next(index for index, word in enumerate(application) if word.endswith(".py"))
    measured = [str(HERE / "measured_app.py"), str(marks)]
    return [
        *(str(PROGRAMS / "spark-submit"), "--master", MASTER, *SETTINGS),
        *(*application[:script], *measured, *application[script:]),
    ]
