"""One attempt at a region in one run, read from the documents that it left in the staging root.

    descriptor.json   the task began           DEPLOYING
    submission.json   spark-submit was called  RUNNING
    driver.json       it is the region's turn: where several regions share a task, only then is it RUNNING
    progress.json     the driver is at work
    report.json       the driver ended         FINISHED or FAILED
    outcome.json      the task ended           FINISHED, FAILED or CANCELED

An attempt includes every subtask of the region: its ExecutionVertices share one state (`folded_state.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from graph_compiler.deployment.documents.descriptor import ExecutionAttempt
from graph_compiler.deployment.documents.progress import VERSION as PROGRESS_VERSION
from graph_compiler.deployment.documents.progress import ExecutionProgress
from graph_compiler.deployment.documents.report import VERSION as REPORT_VERSION
from graph_compiler.deployment.documents.report import ExecutionReport, Outcome
from graph_compiler.deployment.documents.staging_layout import (
    DESCRIPTOR,
    DRIVER,
    OUTCOME,
    PROGRESS,
    REPORT,
    SUBMISSION,
)
from graph_compiler.deployment.documents.submission import Submission
from graph_compiler.deployment.documents.wire import Json, from_wire
from graph_compiler.errors import DamagedDocumentError, DescriptorError, OtherVersionError
from graph_compiler.graphs.execution import (
    ExecutionState,
    IllegalTransitionError,
    cancel,
    report_state,
    transition,
)
from graph_compiler.staging.store.read_document import decode_object, get_document
from graph_compiler.staging.store.staging_store import StagingStore

Document = TypeVar("Document")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt at a region.

    Times are seconds since the epoch; `ended` None while it runs. `host` is the worker's, None before spark-submit.
    `reason` says why it did not finish. `report` is the driver's, None while it runs, or if it died. `progress` is the
    driver's last, None if there is a report, which has more details. `logical_date` is the run's, None if it has none.
    `try_number` is that of its Airflow task, None if it has none.
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
    try_number: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A document that exists but cannot be read."""

    reason: str


def read_execution(store: StagingStore, folder: str, *, is_last: bool) -> Attempt | None:
    """Return an attempt, None if its descriptor does not identify it, or no longer exists."""
    started = store.written(f"{folder}/{DESCRIPTOR}")
    try:
        told = raw_descriptor(store, folder)
        attempt = None if told is None else from_wire(ExecutionAttempt, told.get("attempt"))
    except (DamagedDocumentError, DescriptorError):
        return None
    if told is None or attempt is None or started is None:
        return None
    submission = _read(store, f"{folder}/{SUBMISSION}", Submission)
    outcome = _read(store, f"{folder}/{OUTCOME}", Outcome)
    report = _read(store, f"{folder}/{REPORT}", ExecutionReport, version=REPORT_VERSION)
    ends = [one for one in (outcome, report) if isinstance(one, Unreadable)]
    told_outcome = None if isinstance(outcome, Unreadable) else outcome
    told_report = None if isinstance(report, Unreadable) else report
    known = None if isinstance(submission, Unreadable) else submission
    reported = store.written(f"{folder}/{REPORT}")
    ended = told_outcome.ended if told_outcome else reported
    was_submitted = known is not None
    if isinstance(told.get("turn"), int):  # several regions share the times of their task
        claimed = store.written(f"{folder}/{DRIVER}")
        was_submitted = was_submitted and claimed is not None
        started, ended = claimed or started, reported or ended
    if ended is not None:
        ended = max(started, ended)  # the clocks of a worker and of the store differ
    if ends and told_outcome is None and told_report is None:
        folded = FoldedState(ExecutionState.FAILED, ends[0].reason)  # it has ended in any case
    else:
        folded = folded_state(
            told_report, told_outcome, was_submitted=was_submitted, is_last=is_last
        )
    date, number = told.get("logical_date"), told.get("try_number")
    return Attempt(
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
        try_number=number if isinstance(number, int) else None,
    )


def _progress(store: StagingStore, key: str) -> ExecutionProgress | None:
    """Read the progress of an attempt; nothing depends on it, so that an unreadable document counts as missing."""
    try:
        return get_document(store, key, ExecutionProgress, version=PROGRESS_VERSION)
    except (OSError, DamagedDocumentError, OtherVersionError):
        return None


def raw_descriptor(store: StagingStore, folder: str) -> dict[str, Json] | None:
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


# The state of an attempt, from its documents: each is an event for Flink's `Execution`.
#
#     descriptor.json   CREATED → SCHEDULED → DEPLOYING
#     submission.json   → INITIALIZING → RUNNING
#     report.json       the driver's end; the attempt's, if its task has left no outcome
#     outcome.json      the task's end
#     a later attempt   without a report the attempt has died: FAILED
#
# An impossible history is shown as a failure, with the contradiction.

DIED = "it died without a report: its worker was killed or lost"


@dataclass(frozen=True, slots=True)
class FoldedState:
    """The state of an attempt; `reason` says why it did not finish."""

    state: ExecutionState
    reason: str | None = None


def folded_state(
    report: ExecutionReport | None, outcome: Outcome | None, *, was_submitted: bool, is_last: bool
) -> FoldedState:
    """Return the state that follows from an attempt's documents, one after the other."""
    state = transition(ExecutionState.CREATED, ExecutionState.SCHEDULED)
    state = transition(state, ExecutionState.DEPLOYING)
    if was_submitted:
        for step in (ExecutionState.INITIALIZING, ExecutionState.RUNNING):
            state = report_state(state, step).state
    end = _end(report, outcome, is_last=is_last)
    if end is None:
        return FoldedState(state)
    if why := _why_impossible(state, end.state, report):
        return FoldedState(ExecutionState.FAILED, f"its documents contradict each other: {why}")
    return end


def _end(
    report: ExecutionReport | None, outcome: Outcome | None, *, is_last: bool
) -> FoldedState | None:
    failure = None if report is None else report.failure
    if outcome is not None:
        is_finished = outcome.state is ExecutionState.FINISHED
        is_of_driver = failure is not None and outcome.reason == failure.message
        reason = failure.reason if failure is not None and is_of_driver else outcome.reason
        return FoldedState(outcome.state, None if is_finished else reason)
    if failure is not None:
        return FoldedState(ExecutionState.FAILED, failure.reason)
    if report is not None:
        return FoldedState(ExecutionState.FINISHED)
    return None if is_last else FoldedState(ExecutionState.FAILED, DIED)


def _why_impossible(
    state: ExecutionState, end: ExecutionState, report: ExecutionReport | None
) -> str | None:
    """Return why an attempt in this state cannot end like this, None if it can."""
    if end is ExecutionState.FINISHED and report is not None and report.failure is not None:
        return f"its task has FINISHED, but its driver has FAILED: {report.failure.reason}"
    try:
        before = cancel(state) if end is ExecutionState.CANCELED else state
        after = report_state(before, end).state
    except IllegalTransitionError:
        after = state
    return None if after is end and end.is_terminal else f"it ends as {end}, and was {state}"
