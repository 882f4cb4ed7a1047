"""Every start state and action, compared with Flink's own executions."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from graph_compiler.graphs.execution import (
    Execution,
    ExecutionHistory,
    ExecutionState,
    IllegalTransitionError,
    cancel,
    fail,
    report_state,
    reset_for_new_execution,
    suspend,
    transition,
)

FACTS = json.loads((Path(__file__).parent / "execution_state_matrix.json").read_text())
CASES = [(start, action, outcome) for start, row in FACTS["matrix"].items() for action, outcome in row.items()]


def reported(name: str) -> Callable[[ExecutionState], str]:
    def act(state: ExecutionState) -> str:
        update = report_state(state, ExecutionState(name))
        return f"{update.state} [updateState={str(update.is_accepted).lower()}]"

    return act


def reset(state: ExecutionState) -> str:
    history = reset_for_new_execution(ExecutionHistory(current=Execution(state=state)))
    return f"{history.current.state} [attempt {history.current.attempt_number}]"


ACTIONS: dict[str, Callable[[ExecutionState], str]] = {
    **{f"report {name}": reported(name) for name in ("INITIALIZING", "RUNNING", "FINISHED", "CANCELED", "FAILED")},
    "cancel()": cancel,
    "suspend()": suspend,
    "fail()": lambda state: f"{fail(state)} [reported to scheduler]",
    "transition SCHEDULED": lambda state: transition(state, ExecutionState.SCHEDULED),
    "reset": reset,
}


@pytest.mark.parametrize(("start", "action", "outcome"), CASES, ids=[f"{case[0]} {case[1]}" for case in CASES])
def test_what_flink_did(start: str, action: str, outcome: str) -> None:
    try:
        found = ACTIONS[action](ExecutionState(start))
    except IllegalTransitionError as error:
        found = f"{start} [IllegalStateException: {error}]"
    assert found == outcome


def test_the_history_keeps_the_last_sixteen() -> None:
    history = ExecutionHistory()
    for _ in range(40):
        ended = replace(history.current, state=ExecutionState.FAILED)
        history = reset_for_new_execution(replace(history, current=ended))
    assert history.current == Execution(attempt_number=40)
    assert [execution.attempt_number for execution in history.prior] == list(range(24, 40))
