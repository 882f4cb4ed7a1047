"""The attempts at a region in one run, read from the documents they left in the staging root.

    descriptor.json   the task began           DEPLOYING
    submission.json   spark-submit was called  RUNNING
    progress.json     the driver is at work
    report.json       the driver ended         FINISHED or FAILED
    outcome.json      the task ended           FINISHED, FAILED or CANCELED

An attempt is that of every subtask of the region: its ExecutionVertices share one state.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote

from graph_compiler.declaration.retention import HISTORY_SIZE
from graph_compiler.deployment.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.outcome import Outcome
from graph_compiler.deployment.progress import ExecutionProgress
from graph_compiler.deployment.report import ExecutionReport
from graph_compiler.deployment.staging_layout import (
    DESCRIPTOR,
    OUTCOME,
    PROGRESS,
    REPORT,
    SUBMISSION,
    StagingLayout,
    executions_folder,
)
from graph_compiler.deployment.submission import Submission
from graph_compiler.deployment.wire import from_json
from graph_compiler.errors import DescriptorError, GraphCompilerError
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import RegionId, listing, path_segment

Document = TypeVar("Document")

ALL = 10_000
"""More attempts than a strategy looks back at."""
DIED = "it ended without a word: its worker was killed, or lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionExecution:
    """One attempt at a region.

    Times are seconds since the epoch; `ended` None while it runs. `host` is the worker's, None before spark-submit.
    `reason` says why it did not finish. `report` is the driver's, None while it runs, or if it died; `progress` is what
    the driver told last, None where there is a report, which says more.
    """

    execution_id: str
    attempt_number: int
    state: ExecutionState
    host: str | None
    started: float
    ended: float | None
    reason: str | None
    report: ExecutionReport | None
    progress: ExecutionProgress | None


class ExecutionNotFoundError(GraphCompilerError):
    """There is no such run, task or attempt in the staging root."""


def find_run(layout: StagingLayout) -> Path:
    """Give the folder of a run; raises ExecutionNotFoundError naming what there is."""
    run = Path(layout.run)
    if run.is_dir():
        return run
    known = sorted(unquote(path.name) for path in run.parent.glob("*") if path.is_dir())
    raise ExecutionNotFoundError(
        f"there is no run '{layout.run_id}' of '{layout.pipeline}' in {layout.root}\n"
        f"  found: {listing(known)}"
    )


def regions_of(run: Path) -> tuple[RegionId, ...]:
    """Give the regions of which a run has attempts, by when the first began."""
    folders = [
        folder for folder in (run / "tasks").glob("*") if any(folder.glob(f"*/{DESCRIPTOR}"))
    ]
    begun = {
        RegionId(unquote(folder.name)): min(
            path.stat().st_mtime for path in folder.glob(f"*/{DESCRIPTOR}")
        )
        for folder in folders
    }
    return tuple(sorted(begun, key=lambda id: (begun[id], id)))


def executions(
    run: Path, region_id: RegionId, *, size: int = HISTORY_SIZE
) -> tuple[RegionExecution, ...]:
    """Give the current attempt at a region and at most `size` before it, first to last."""
    in_order = _in_order(run, region_id)
    kept = in_order[-size - 1 :]
    found = (_execution(folder, is_last=folder is in_order[-1]) for folder in kept)
    return tuple(execution for execution in found if execution is not None)


def history_size(run: Path, region_id: RegionId) -> int:
    """Give how many earlier attempts the pipeline wants shown, as the last attempt was told."""
    in_order = _in_order(run, region_id)
    if not in_order:
        return HISTORY_SIZE
    try:
        retention = json.loads((in_order[-1] / DESCRIPTOR).read_text())["region"]["retention"]
    except json.JSONDecodeError:  # just being written
        return HISTORY_SIZE
    return int(retention.get("attempts_history_size", HISTORY_SIZE))  # older compilers wrote none


def last_execution(run: Path, region_id: RegionId) -> RegionExecution | None:
    """Give the current attempt at a region, None where there is none."""
    return next(iter(executions(run, region_id, size=0)), None)


def last_descriptor(layout: StagingLayout, region_id: RegionId) -> TaskDeploymentDescriptor | None:
    """Give what a region's last attempt was told to do, None where there is none."""
    in_order = _in_order(Path(layout.run), region_id)
    if not in_order:
        return None
    return TaskDeploymentDescriptor.from_json((in_order[-1] / DESCRIPTOR).read_text())


def is_superseded(run: Path, region_id: RegionId, execution_id: str) -> bool:
    """Say whether another attempt at a region began after an execution; one that left no descriptor is not."""
    names = [folder.name for folder in _in_order(run, region_id)]
    return path_segment(execution_id) in names[:-1]


def _in_order(run: Path, region_id: RegionId) -> list[Path]:
    """Give the folders of a region's attempts, by when they began."""
    folders = Path(executions_folder(str(run), region_id)).glob("*")
    begun = {
        folder: descriptor.stat().st_mtime_ns
        for folder in folders
        if (descriptor := folder / DESCRIPTOR).exists()
    }
    return sorted(begun, key=lambda folder: (begun[folder], folder.name))


def failure_times(run: Path, region_id: RegionId, *, but: str) -> tuple[float, ...]:
    """Give when a region's attempts failed, first to last, but for one execution; of one that died, when it began."""
    return tuple(
        one.ended or one.started
        for one in executions(run, region_id, size=ALL)
        if one.execution_id != but and one.state is not ExecutionState.FINISHED
    )


def _execution(folder: Path, *, is_last: bool) -> RegionExecution | None:
    started = (folder / DESCRIPTOR).stat().st_mtime
    try:
        attempt = json.loads((folder / DESCRIPTOR).read_text())["attempt"]
    except json.JSONDecodeError:  # just being written
        return None
    submission = _read(folder / SUBMISSION, Submission)
    outcome = _read(folder / OUTCOME, Outcome)
    report_path = folder / REPORT
    report = ExecutionReport.from_json(report_path.read_text()) if report_path.exists() else None
    state, reason = _state(submission, report, outcome, is_last=is_last)
    ended = outcome.ended if outcome else report_path.stat().st_mtime if report else None
    return RegionExecution(
        execution_id=attempt["execution_id"],
        attempt_number=attempt["attempt_number"],
        state=state,
        host=None if submission is None else submission.host,
        started=started,
        ended=ended,
        reason=reason,
        report=report,
        progress=None if report else _progress(folder / PROGRESS),
    )


def _state(
    submission: Submission | None,
    report: ExecutionReport | None,
    outcome: Outcome | None,
    *,
    is_last: bool,
) -> tuple[ExecutionState, str | None]:
    if outcome is not None:
        return outcome.state, outcome.reason
    if report is not None:
        failure = report.failure
        return (
            (ExecutionState.FINISHED, None)
            if failure is None
            else (ExecutionState.FAILED, failure.message)
        )
    if not is_last:
        return ExecutionState.FAILED, DIED
    return (ExecutionState.DEPLOYING if submission is None else ExecutionState.RUNNING), None


def _progress(path: Path) -> ExecutionProgress | None:
    """Read what is told of an attempt while it runs; nothing depends on it, so whatever cannot be read is not there."""
    try:
        return ExecutionProgress.from_json(path.read_text())
    except (OSError, ValueError, DescriptorError):
        return None


def _read(path: Path, kind: type[Document]) -> Document | None:
    try:
        return from_json(kind, path.read_text())
    except (FileNotFoundError, json.JSONDecodeError):  # not there, or just being written
        return None
