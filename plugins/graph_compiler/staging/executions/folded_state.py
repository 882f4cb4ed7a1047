"""The state of an attempt, from its documents: each is an event for Flink's `Execution`.

    descriptor.json   CREATED → SCHEDULED → DEPLOYING
    submission.json   → INITIALIZING → RUNNING
    report.json       the driver's end; the attempt's, if its task has left no outcome
    outcome.json      the task's end
    a later attempt   without a report the attempt has died: FAILED

An impossible history is shown as a failure, with the contradiction.
"""

from __future__ import annotations

from dataclasses import dataclass

from graph_compiler.deployment.documents.outcome import Outcome
from graph_compiler.deployment.documents.report import ExecutionReport
from graph_compiler.graphs.execution import (
    ExecutionState,
    IllegalTransitionError,
    cancel,
    report_state,
    transition,
)

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
