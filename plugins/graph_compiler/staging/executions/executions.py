"""The attempts at a region in one run, read from the documents they left in the staging root.

    descriptor.json   the task began           DEPLOYING
    submission.json   spark-submit was called  RUNNING
    progress.json     the driver is at work
    report.json       the driver ended         FINISHED or FAILED
    outcome.json      the task ended           FINISHED, FAILED or CANCELED

An attempt includes every subtask of the region: its ExecutionVertices share one state (`folded_state.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
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
from graph_compiler.deployment.documents.run_identity import RunIdentity, with_identity
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
from graph_compiler.staging.executions.folded_state import FoldedState, folded_state
from graph_compiler.staging.store.read_document import decode_object, get_document
from graph_compiler.staging.store.staging_store import StagingStore

Document = TypeVar("Document")

ALL = 10_000
"""More attempts than any restart strategy considers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionExecution:
    """One attempt at a region.

    Times are seconds since the epoch; `ended` None while it runs. `host` is the worker's, None before spark-submit.
    `reason` says why it did not finish. `report` is the driver's, None while it runs, or if it died. `progress` is the
    driver's last, None if there is a report, which has more details. `logical_date` is the run's, None if it has none.
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
    logical_date: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A document that exists but cannot be read."""

    reason: str


class ExecutionNotFoundError(GraphCompilerError):
    """The staging root does not have this run, task or attempt."""


def find_run(store: StagingStore, layout: StagingLayout) -> None:
    """Raise ExecutionNotFoundError, which names the existing runs, if there is no such run."""
    if store.is_there(layout.run):
        return
    wanted = layout.identity
    ids = (identity_of(store, f"{layout.runs}/{name}") for name in store.folders(layout.runs))
    known = sorted(found.run_id for found in ids if found and found.owner == wanted.owner)
    raise ExecutionNotFoundError(
        f"there is no run '{wanted.run_id}' of '{wanted.owner}' in {layout.root}\n"
        f"  found: {listing(known)}"
    )


def identity_of(store: StagingStore, run: str) -> RunIdentity | None:
    """Return the run of a folder, None if neither its name nor the record in it identifies one.

    Raises OSError.
    """
    _, folder, name = run.rsplit("/", 2)
    if (known := RunIdentity.of_folder(folder, name)) is not None:
        return known
    try:
        marker = decode_object(store.get(f"{run}/{MARKER}") or b"", f"{run}/{MARKER}")
    except DamagedDocumentError:
        return None
    return RunIdentity.of_folder(folder, name, with_identity(marker).get("identity"))


def regions_of(store: StagingStore, layout: StagingLayout) -> tuple[RegionId, ...]:
    """Return the regions that a run has attempts of, in the order in which their first attempts started, by clocks."""
    begun: dict[RegionId, float] = {}
    for name in store.folders(layout.tasks):
        region_id = RegionId(name_of_segment(name) or name)
        begins = in_order(store, layout, region_id)
        times = [store.written(f"{folder}/{DESCRIPTOR}") for folder in begins]
        if found := [time for time in times if time is not None]:
            begun[region_id] = min(found)
    return tuple(sorted(begun, key=lambda id: (begun[id], id)))


def executions(
    store: StagingStore,
    layout: StagingLayout,
    region_id: RegionId,
    *,
    size: int = HISTORY_SIZE,
) -> tuple[RegionExecution, ...]:
    """Return the current attempt at a region and at most `size` before it, first to last."""
    begun = in_order(store, layout, region_id)
    kept = begun[-size - 1 :]
    found = (_execution(store, folder, is_last=folder is begun[-1]) for folder in kept)
    return tuple(execution for execution in found if execution is not None)


def logical_date_of(attempts: Iterable[RegionExecution]) -> str | None:
    """Return the logical date of the run that these attempts belong to, None if it has none."""
    return next((one.logical_date for one in attempts if one.logical_date), None)


def history_size(store: StagingStore, layout: StagingLayout, region_id: RegionId) -> int:
    """Return how many earlier attempts to show, according to the last attempt's descriptor."""
    begun = in_order(store, layout, region_id)
    try:
        told = _descriptor(store, begun[-1]) if begun else None
        found = told["region"]["retention"]["attempts_history_size"] if told else HISTORY_SIZE  # type: ignore[index, call-overload]  # looked at below
    except (DamagedDocumentError, LookupError, TypeError):  # older compilers wrote none
        return HISTORY_SIZE
    return found if isinstance(found, int) and found >= 0 else HISTORY_SIZE


def last_execution(
    store: StagingStore, layout: StagingLayout, region_id: RegionId
) -> RegionExecution | None:
    """Return the current attempt at a region, None if there is none."""
    return next(iter(executions(store, layout, region_id, size=0)), None)


def last_descriptor(
    store: StagingStore, layout: StagingLayout, region_id: RegionId
) -> TaskDeploymentDescriptor | None:
    """Return the descriptor of a region's last attempt, None if there is none.

    Raises DamagedDocumentError if it is no longer readable.
    """
    begun = in_order(store, layout, region_id)
    return told(store, f"{begun[-1]}/{DESCRIPTOR}") if begun else None


def told(store: StagingStore, descriptor: str) -> TaskDeploymentDescriptor | None:
    """Return the descriptor of an attempt, None if it has none.

    Raises DamagedDocumentError and OtherVersionError.
    """
    try:
        return get_document(store, descriptor, TaskDeploymentDescriptor, version=DESCRIPTOR_VERSION)
    except DamagedDocumentError as error:
        raise error.hinting("clear its task: the next attempt leaves another") from None


def is_superseded(
    store: StagingStore, layout: StagingLayout, region_id: RegionId, execution_id: str
) -> bool:
    """Whether another attempt at a region started after an execution; one without a descriptor is not superseded."""
    names = [folder.rpartition("/")[2] for folder in in_order(store, layout, region_id)]
    return path_segment(execution_id) in names[:-1]


def failure_times(
    store: StagingStore, layout: StagingLayout, region_id: RegionId, *, but: str
) -> tuple[float, ...]:
    """Return when a region's attempts failed, in order, except one execution; for one that died, when it started."""
    return tuple(
        one.ended or one.started
        for one in executions(store, layout, region_id, size=ALL)
        if one.execution_id != but and one.state is not ExecutionState.FINISHED
    )


def _execution(store: StagingStore, folder: str, *, is_last: bool) -> RegionExecution | None:
    """Return an attempt, None if its descriptor does not identify it, or no longer exists."""
    started = store.written(f"{folder}/{DESCRIPTOR}")
    try:
        told = _descriptor(store, folder)
        attempt = None if told is None else from_wire(ExecutionAttempt, told.get("attempt"))
    except (DamagedDocumentError, DescriptorError):
        return None
    if attempt is None or started is None:
        return None
    submission = _read(store, f"{folder}/{SUBMISSION}", Submission)
    outcome = _read(store, f"{folder}/{OUTCOME}", Outcome)
    report = _read(store, f"{folder}/{REPORT}", ExecutionReport, version=REPORT_VERSION)
    ends = [one for one in (outcome, report) if isinstance(one, Unreadable)]
    told_outcome = None if isinstance(outcome, Unreadable) else outcome
    told_report = None if isinstance(report, Unreadable) else report
    known = None if isinstance(submission, Unreadable) else submission
    if ends and told_outcome is None and told_report is None:
        folded = FoldedState(ExecutionState.FAILED, ends[0].reason)  # it has ended in any case
    else:
        folded = folded_state(
            told_report, told_outcome, was_submitted=known is not None, is_last=is_last
        )
    ended = told_outcome.ended if told_outcome else store.written(f"{folder}/{REPORT}")
    date = told.get("logical_date") if told else None
    return RegionExecution(
        execution_id=attempt.execution_id,
        attempt_number=attempt.attempt_number,
        state=folded.state,
        host=None if known is None else known.host,
        started=started,
        ended=ended if folded.state.is_terminal else None,
        reason=folded.reason,
        report=told_report,
        progress=None if report else _progress(store, f"{folder}/{PROGRESS}"),
        logical_date=date if isinstance(date, str) else None,
    )


def _progress(store: StagingStore, key: str) -> ExecutionProgress | None:
    """Read the progress of an attempt; nothing depends on it, so that an unreadable document counts as missing."""
    try:
        return get_document(store, key, ExecutionProgress, version=PROGRESS_VERSION)
    except (OSError, DamagedDocumentError, OtherVersionError):
        return None


def _descriptor(store: StagingStore, folder: str) -> dict[str, Json] | None:
    """Return the undecoded descriptor of an attempt: in any version, it identifies the attempt."""
    key = f"{folder}/{DESCRIPTOR}"
    content = store.get(key)
    return None if content is None else decode_object(content, key)


def _read(
    store: StagingStore, key: str, kind: type[Document], *, version: int | None = None
) -> Document | Unreadable | None:
    try:
        return get_document(store, key, kind, version=version)
    except DamagedDocumentError as error:
        return Unreadable(reason=f"{error.path} {error.why}")
