"""One attempt at a region in one run, as its documents say. All that shows or judges an attempt asks here.

    descriptor.json   the task began           DEPLOYING
    submission.json   spark-submit was called  RUNNING
    driver.json       it is the region's turn: where several regions share a task, only then is it RUNNING
    report.json       the driver ended         FINISHED or FAILED
    outcome.json      the task ended           FINISHED, FAILED or CANCELED
    a later attempt   neither of the two: the attempt has died, it is FAILED

Why an attempt did not finish (`Attempt.reason`) is the first of these that is known:

    1. it is CANCELED, says its outcome     it was stopped, or its region was left out; what its driver
                                            reports after that is a consequence
    2. the failure in its driver's report   with the operator, and the line that declares it
    3. the reason in its outcome            its driver ended without a report, its application was given up
    4. an end that cannot be read           which document, and why
    5. it has died

An impossible history is a failure, with the contradiction. An attempt includes every subtask of the region: its
ExecutionVertices share one state.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from graph_compiler.deployment.documents.descriptor import ExecutionAttempt
from graph_compiler.deployment.documents.progress import ExecutionProgress
from graph_compiler.deployment.documents.report import ExecutionReport, Failure, Outcome, Output, ThrowableType
from graph_compiler.deployment.documents.stream import PublishedBatch
from graph_compiler.deployment.documents.wire import from_wire
from graph_compiler.errors import DamagedDocumentError, DescriptorError
from graph_compiler.graphs.execution import ExecutionState, IllegalTransitionError, cancel, report_state, transition
from graph_compiler.identifiers import RegionId
from graph_compiler.staging.attempts.attempt_documents import AttemptDocuments

Document = TypeVar("Document")
DIED = "it died without a report: its worker was killed or lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptEnd:
    """How an attempt ended, or that it has not; `reason` says why it did not finish.

    `report` is the driver's, None while it runs, or if it died.
    """

    state: ExecutionState
    reason: str | None
    report: ExecutionReport | None

    @property
    def is_finished(self) -> bool:
        """Whether it has done its work."""
        return self.state is ExecutionState.FINISHED

    @property
    def failure(self) -> Failure | None:
        """The failure of its driver, with operator and place, if that is why it did not finish."""
        is_failed = self.state is ExecutionState.FAILED
        return self.report.failure if is_failed and self.report is not None else None

    @property
    def is_final(self) -> bool:
        """Whether no retry can help."""
        failure = self.failure
        return failure is not None and failure.throwable_type is ThrowableType.NON_RECOVERABLE_ERROR

    @property
    def outputs(self) -> tuple[Output, ...]:
        """What it has published and staged; nothing unless it finished."""
        return self.report.outputs if self.is_finished and self.report is not None else ()

    def words(self, pipeline: str, region_id: RegionId) -> str | None:
        """Return why it did not finish, for a reader who does not know which region it is about."""
        if (failure := self.failure) is not None:
            return failure.words(pipeline, region_id)
        return self.reason and f"pipeline '{pipeline}', region '{region_id}': {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt(AttemptEnd):
    """One attempt at a region.

    Times are seconds since the epoch; `ended` None while it runs. `host` is the worker's, None before spark-submit.
    `progress` is the driver's last, None if there is a report, which has more details. `logical_date` is the run's, and
    `try_number` that of its Airflow task; None if it has none.
    """

    execution_id: str
    attempt_number: int
    host: str | None
    started: float
    ended: float | None
    progress: ExecutionProgress | None
    logical_date: str | None = None
    try_number: int | None = None

    @property
    def application_id(self) -> str | None:
        """The id of its Spark application, as far as its driver has said."""
        known = self.report or self.progress
        return known.application_id if known else None

    @property
    def batches(self) -> tuple[PublishedBatch, ...]:
        """The last batches that it has published, if it is one of a stream."""
        known = self.report or self.progress
        return known.batches if known else ()


def read_attempt(documents: AttemptDocuments, *, is_last: bool) -> Attempt | None:
    """Return an attempt, None if its descriptor does not identify it, or no longer exists.

    One that is not the last and has no end has died. Raises OSError, and OtherVersionError for a report of another
    version: what that says is not known here.
    """
    started = documents.began()
    try:
        descriptor = documents.read_raw_descriptor() or {}
        identity = from_wire(ExecutionAttempt, descriptor.get("attempt"))
    except (DamagedDocumentError, DescriptorError):
        return None
    if started is None:
        return None
    submission, _ = _readable(documents.read_submission)
    ends = _Ends.read(documents)
    outcome, report = ends.outcome, ends.report
    reported = documents.reported()
    ended = outcome.ended if outcome else reported
    was_submitted = submission is not None
    if isinstance(descriptor.get("turn"), int):  # several regions share the times of their task
        claimed = documents.claimed()
        was_submitted = was_submitted and claimed is not None
        started, ended = claimed or started, reported or ended
    if ended is not None:
        ended = max(started, ended)  # the clocks of a worker and of the store differ
    end = ends.fold(was_submitted=was_submitted, is_last=is_last)
    date, number = descriptor.get("logical_date"), descriptor.get("try_number")
    return Attempt(
        state=end.state,
        reason=end.reason,
        report=report,
        execution_id=identity.execution_id,
        attempt_number=identity.attempt_number,
        host=None if submission is None else submission.host,
        started=started,
        ended=ended if end.state.is_terminal else None,
        progress=documents.read_progress() if ends.has_no_report else None,
        logical_date=date if isinstance(date, str) else None,
        try_number=number if isinstance(number, int) else None,
    )


def read_end(documents: AttemptDocuments) -> AttemptEnd:
    """Return how an attempt that was submitted ended; its other documents are not read."""
    return _Ends.read(documents).fold(was_submitted=True, is_last=True)


def _readable(read: Callable[[], Document | None]) -> tuple[Document | None, str | None]:
    """Return a document, or why it cannot be read."""
    try:
        return read(), None
    except DamagedDocumentError as error:
        return None, f"{error.path} {error.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ends:
    """The documents of an attempt's end, which are events for Flink's `Execution`, or why they cannot be read."""

    report: ExecutionReport | None
    outcome: Outcome | None
    why_no_report: str | None
    why_no_outcome: str | None

    @classmethod
    def read(cls, documents: AttemptDocuments) -> _Ends:
        outcome, why_no_outcome = _readable(documents.read_outcome)
        report, why_no_report = _readable(documents.read_report)
        return cls(report=report, outcome=outcome, why_no_report=why_no_report, why_no_outcome=why_no_outcome)

    @property
    def has_no_report(self) -> bool:
        """Whether there is none, readable or not."""
        return self.report is None and self.why_no_report is None

    def fold(self, *, was_submitted: bool, is_last: bool) -> AttemptEnd:
        """Return the state that follows from the documents, one after the other."""
        state = transition(ExecutionState.CREATED, ExecutionState.SCHEDULED)
        state = transition(state, ExecutionState.DEPLOYING)
        if was_submitted:
            for step in (ExecutionState.INITIALIZING, ExecutionState.RUNNING):
                state = report_state(state, step).state
        reason = None
        if (end := self._state(is_last=is_last)) is not None:
            why = self._why_impossible(state, end)
            reason = f"its documents contradict each other: {why}" if why else self._reason(end)
            state = ExecutionState.FAILED if why else end
        return AttemptEnd(state=state, reason=reason, report=self.report)

    @property
    def _failure(self) -> Failure | None:
        return self.report.failure if self.report else None

    def _state(self, *, is_last: bool) -> ExecutionState | None:
        if self.outcome is not None:
            return self.outcome.state
        if self.report is not None and self._failure is None:
            return ExecutionState.FINISHED
        has_ended = not (is_last and self.has_no_report and self.why_no_outcome is None)
        return ExecutionState.FAILED if has_ended else None

    def _reason(self, end: ExecutionState) -> str | None:
        """Return why an attempt did not finish, in the order that is written above."""
        if end is ExecutionState.FINISHED:
            return None
        if self._failure is not None and end is not ExecutionState.CANCELED:
            return self._failure.reason
        if self.outcome is not None:
            return self.outcome.reason
        return self.why_no_outcome or self.why_no_report or DIED

    def _why_impossible(self, state: ExecutionState, end: ExecutionState) -> str | None:
        """Return why an attempt in this state cannot end like this, None if it can."""
        if end is ExecutionState.FINISHED and self._failure is not None:
            return f"its task has FINISHED, but its driver has FAILED: {self._failure.reason}"
        try:
            before = cancel(state) if end is ExecutionState.CANCELED else state
            after = report_state(before, end).state
        except IllegalTransitionError:
            after = state
        return None if after is end and end.is_terminal else f"it ends as {end}, and was {state}"
