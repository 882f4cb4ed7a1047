"""The attempts at a region in one run, read from the documents they left in the staging root.

    descriptor.json   the task began           DEPLOYING
    submission.json   spark-submit was called  RUNNING
    progress.json     the driver is at work
    report.json       the driver ended         FINISHED or FAILED
    outcome.json      the task ended           FINISHED, FAILED or CANCELED

An attempt is that of every subtask of the region: its ExecutionVertices share one state.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from graph_compiler.declaration.retention import HISTORY_SIZE
from graph_compiler.deployment.documents.descriptor import VERSION as DESCRIPTOR_VERSION
from graph_compiler.deployment.documents.descriptor import (
    ExecutionAttempt,
    TaskDeploymentDescriptor,
)
from graph_compiler.deployment.documents.outcome import Outcome
from graph_compiler.deployment.documents.progress import VERSION as PROGRESS_VERSION
from graph_compiler.deployment.documents.progress import ExecutionProgress
from graph_compiler.deployment.documents.report import VERSION as REPORT_VERSION
from graph_compiler.deployment.documents.report import ExecutionReport
from graph_compiler.deployment.documents.staging_layout import (
    DESCRIPTOR,
    MARKER,
    OUTCOME,
    PROGRESS,
    REPORT,
    SUBMISSION,
    StagingLayout,
)
from graph_compiler.deployment.documents.submission import Submission
from graph_compiler.deployment.documents.wire import Json, from_wire
from graph_compiler.errors import (
    DamagedDocumentError,
    DescriptorError,
    GraphCompilerError,
    OtherVersionError,
)
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import RegionId, listing, name_of_segment, path_segment
from graph_compiler.staging.executions.execution_order import in_order
from graph_compiler.staging.store.bounded_read import folders_in, read_bytes
from graph_compiler.staging.store.read_document import decode_object, read_document

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A document that is there, and that nobody can read any more."""

    reason: str


class ExecutionNotFoundError(GraphCompilerError):
    """There is no such run, task or attempt in the staging root."""


def find_run(layout: StagingLayout) -> Path:
    """Give the folder of a run; raises ExecutionNotFoundError naming what there is."""
    run = Path(layout.run)
    if run.is_dir():
        return run
    names = folders_in(str(run.parent))
    known = sorted(found for name in names if (found := run_id_of(run.parent / name)) is not None)
    raise ExecutionNotFoundError(
        f"there is no run '{layout.run_id}' of '{layout.pipeline}' in {layout.root}\n"
        f"  found: {listing(known)}"
    )


def run_id_of(run: Path) -> str | None:
    """Return the id of the run whose folder this is, None where it was shortened and no document has it.

    Raises OSError.
    """
    if (known := name_of_segment(run.name)) is not None:
        return known
    try:
        marker = decode_object(read_bytes(str(run / MARKER)) or b"", str(run / MARKER))
    except DamagedDocumentError:
        return None
    found = marker.get("run_id")
    return found if isinstance(found, str) and path_segment(found) == run.name else None


def regions_of(run: Path) -> tuple[RegionId, ...]:
    """Return the regions of which a run has attempts, by when the first began as far as clocks tell."""
    begun: dict[RegionId, float] = {}
    for name in folders_in(str(run / "tasks")):
        region_id = RegionId(name_of_segment(name) or name)
        times = [_time(folder / DESCRIPTOR) for folder in in_order(run, region_id)]
        if found := [time for time in times if time is not None]:
            begun[region_id] = min(found)
    return tuple(sorted(begun, key=lambda id: (begun[id], id)))


def executions(
    run: Path, region_id: RegionId, *, size: int = HISTORY_SIZE
) -> tuple[RegionExecution, ...]:
    """Give the current attempt at a region and at most `size` before it, first to last."""
    begun = in_order(run, region_id)
    kept = begun[-size - 1 :]
    found = (_execution(folder, is_last=folder is begun[-1]) for folder in kept)
    return tuple(execution for execution in found if execution is not None)


def history_size(run: Path, region_id: RegionId) -> int:
    """Give how many earlier attempts the pipeline wants shown, as the last attempt was told."""
    begun = in_order(run, region_id)
    try:
        told = _descriptor(begun[-1]) if begun else None
        found = told["region"]["retention"]["attempts_history_size"] if told else HISTORY_SIZE  # type: ignore[index, call-overload]  # looked at below
    except (DamagedDocumentError, LookupError, TypeError):  # older compilers wrote none
        return HISTORY_SIZE
    return found if isinstance(found, int) and found >= 0 else HISTORY_SIZE


def last_execution(run: Path, region_id: RegionId) -> RegionExecution | None:
    """Give the current attempt at a region, None where there is none."""
    return next(iter(executions(run, region_id, size=0)), None)


def last_descriptor(layout: StagingLayout, region_id: RegionId) -> TaskDeploymentDescriptor | None:
    """Return what a region's last attempt was told to do, None where there is none.

    Raises DamagedDocumentError where nobody can read it any more.
    """
    begun = in_order(Path(layout.run), region_id)
    return told(begun[-1]) if begun else None


def told(folder: Path) -> TaskDeploymentDescriptor | None:
    """Return what the attempt of a folder was told to do, None where it was told nothing.

    Raises DamagedDocumentError where nobody can read it any more, and OtherVersionError.
    """
    path = str(folder / DESCRIPTOR)
    try:
        return read_document(path, TaskDeploymentDescriptor, version=DESCRIPTOR_VERSION)
    except DamagedDocumentError as error:
        raise error.hinting("clear its task: the next attempt leaves another") from None


def is_superseded(run: Path, region_id: RegionId, execution_id: str) -> bool:
    """Say whether another attempt at a region began after an execution; one that left no descriptor is not."""
    names = [folder.name for folder in in_order(run, region_id)]
    return path_segment(execution_id) in names[:-1]


def failure_times(run: Path, region_id: RegionId, *, but: str) -> tuple[float, ...]:
    """Give when a region's attempts failed, first to last, but for one execution; of one that died, when it began."""
    return tuple(
        one.ended or one.started
        for one in executions(run, region_id, size=ALL)
        if one.execution_id != but and one.state is not ExecutionState.FINISHED
    )


def _execution(folder: Path, *, is_last: bool) -> RegionExecution | None:
    """Return an attempt, None where the descriptor does not say which, or is gone meanwhile."""
    started = _time(folder / DESCRIPTOR)
    try:
        told = _descriptor(folder)
        attempt = None if told is None else from_wire(ExecutionAttempt, told.get("attempt"))
    except (DamagedDocumentError, DescriptorError):
        return None
    if attempt is None or started is None:
        return None
    submission = _read(folder / SUBMISSION, Submission)
    outcome = _read(folder / OUTCOME, Outcome)
    report = _read(folder / REPORT, ExecutionReport, version=REPORT_VERSION)
    reason: str | None
    ends = [one for one in (outcome, report) if isinstance(one, Unreadable)]
    told_outcome = None if isinstance(outcome, Unreadable) else outcome
    told_report = None if isinstance(report, Unreadable) else report
    known = None if isinstance(submission, Unreadable) else submission
    if ends and told_outcome is None and told_report is None:
        state, reason = ExecutionState.FAILED, ends[0].reason  # whatever it was, it is over
    else:
        state, reason = _state(known, told_report, told_outcome, is_last=is_last)
    ended = told_outcome.ended if told_outcome else _time(folder / REPORT)
    return RegionExecution(
        execution_id=attempt.execution_id,
        attempt_number=attempt.attempt_number,
        state=state,
        host=None if known is None else known.host,
        started=started,
        ended=ended if state.is_terminal else None,
        reason=reason,
        report=told_report,
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
        return read_document(str(path), ExecutionProgress, version=PROGRESS_VERSION)
    except (OSError, DamagedDocumentError, OtherVersionError):
        return None


def _descriptor(folder: Path) -> dict[str, Json] | None:
    """Return what an attempt was told, undecoded: of another version too, it says which attempt it is."""
    path = str(folder / DESCRIPTOR)
    content = read_bytes(path)
    return None if content is None else decode_object(content, path)


def _read(
    path: Path, kind: type[Document], *, version: int | None = None
) -> Document | Unreadable | None:
    try:
        return read_document(str(path), kind, version=version)
    except DamagedDocumentError as error:
        return Unreadable(reason=f"{error.path} {error.why}")


def _time(path: Path) -> float | None:
    """Return when a file was written, None where it is not there."""
    try:
        return path.lstat().st_mtime
    except FileNotFoundError:
        return None
