"""Executions: the attempts at a subtask, and the states one goes through.

    CREATED → SCHEDULED → DEPLOYING → INITIALIZING → RUNNING → FINISHED
                                          └─▶ CANCELING → CANCELED, or FAILED from anywhere

Here an execution is one Airflow try; the rules are those of Flink's `Execution`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from graph_compiler.declaration.retention import HISTORY_SIZE
from graph_compiler.errors import GraphCompilerError


class ExecutionState(StrEnum):
    """The state of an attempt. RECONCILING exists in Flink, where masters once recovered tasks; nothing enters it."""

    CREATED = "CREATED"
    SCHEDULED = "SCHEDULED"
    DEPLOYING = "DEPLOYING"
    INITIALIZING = "INITIALIZING"
    RUNNING = "RUNNING"
    FINISHED = "FINISHED"
    CANCELING = "CANCELING"
    CANCELED = "CANCELED"
    FAILED = "FAILED"
    RECONCILING = "RECONCILING"

    @property
    def is_terminal(self) -> bool:
        """Whether the attempt is over."""
        return self in (ExecutionState.FINISHED, ExecutionState.CANCELED, ExecutionState.FAILED)

    @property
    def is_deployed(self) -> bool:
        """Whether it is on a worker and has not ended."""
        return self in (ExecutionState.DEPLOYING, ExecutionState.INITIALIZING, ExecutionState.RUNNING)


class IllegalTransitionError(GraphCompilerError):
    """The requested state cannot follow the current one."""


@dataclass(frozen=True, slots=True)
class StateUpdate:
    """The effect of a worker's report: the state after it, and whether the report was accepted."""

    state: ExecutionState
    is_accepted: bool


def report_state(state: ExecutionState, reported: ExecutionState) -> StateUpdate:
    """Return the state after a worker's report on an attempt.

    The end of an attempt is always accepted, though it may change nothing; an intermediate state only after the one
    before it.
    """
    match reported:
        case ExecutionState.INITIALIZING:
            return _step(state, ExecutionState.DEPLOYING, reported)
        case ExecutionState.RUNNING:
            return _step(state, ExecutionState.INITIALIZING, reported)
        case ExecutionState.FAILED:
            return StateUpdate(mark_failed(state), is_accepted=True)
        case ExecutionState.FINISHED | ExecutionState.CANCELED:
            if state is ExecutionState.CANCELING:
                return StateUpdate(ExecutionState.CANCELED, is_accepted=True)
            # A task cannot end before it was deployed: the state stays, and the scheduler is informed of the race.
            return StateUpdate(reported if state.is_deployed else state, is_accepted=True)
        case _:
            raise IllegalTransitionError(f"a worker does not report {reported}")


def mark_failed(state: ExecutionState) -> ExecutionState:
    """Return the state after the scheduler marks an attempt as failed: one that is being canceled ends as canceled."""
    if state is ExecutionState.CANCELING:
        return ExecutionState.CANCELED
    return state if state.is_terminal else ExecutionState.FAILED


def fail(state: ExecutionState) -> ExecutionState:
    """Return the state after the master notices a failure: it informs the scheduler, which then marks the attempt."""
    return ExecutionState.CANCELED if state is ExecutionState.CANCELING else state


def cancel(state: ExecutionState) -> ExecutionState:
    """Return the state after a request to cancel: a deployed attempt is asked to stop, others are canceled at once."""
    _refuse_reconciling(state)
    if state in (ExecutionState.CREATED, ExecutionState.SCHEDULED):
        return ExecutionState.CANCELED
    return ExecutionState.CANCELING if state.is_deployed else state


def suspend(state: ExecutionState) -> ExecutionState:
    """Return the state after the job is suspended: an attempt that has not ended is canceled."""
    _refuse_reconciling(state)
    return state if state.is_terminal else ExecutionState.CANCELED


def transition(state: ExecutionState, target: ExecutionState) -> ExecutionState:
    """Move to `target`; only leaving a terminal state is refused, since the callers check the other rules."""
    if state.is_terminal:
        raise IllegalTransitionError(f"Cannot leave terminal state {state} to transition to {target}.")
    return target


def _refuse_reconciling(state: ExecutionState) -> None:
    if state is ExecutionState.RECONCILING:
        raise IllegalTransitionError(state.value)


def _step(state: ExecutionState, before: ExecutionState, reported: ExecutionState) -> StateUpdate:
    return StateUpdate(reported, is_accepted=True) if state is before else StateUpdate(state, is_accepted=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One attempt: its number from 0, and its state."""

    attempt_number: int = 0
    state: ExecutionState = ExecutionState.CREATED


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionHistory:
    """The current attempt at a subtask and at most `size` earlier ones, of which the oldest are dropped."""

    current: Execution = Execution()
    prior: tuple[Execution, ...] = ()
    size: int = HISTORY_SIZE


def reset_for_new_execution(history: ExecutionHistory) -> ExecutionHistory:
    """Start the next attempt; raises IllegalTransitionError unless the current one has ended."""
    if not history.current.state.is_terminal:
        state = history.current.state
        raise IllegalTransitionError(f"Cannot reset an execution that is in non-terminal state {state}")
    prior = (*history.prior, history.current)[-history.size :]
    return replace(history, current=Execution(attempt_number=history.current.attempt_number + 1), prior=prior)
