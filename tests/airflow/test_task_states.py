"""Every state of an Airflow task is one of Flink's."""

import pytest

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]


def test_every_airflow_state_maps_to_a_flink_state() -> None:
    from airflow.sdk import TaskInstanceState

    from graph_compiler.airflow_backend.web.runs.execution_states import EXECUTION_STATES

    assert set(EXECUTION_STATES) == {None, *TaskInstanceState}


def test_airflows_final_states_are_final_here() -> None:
    from airflow.utils.state import State

    from graph_compiler.airflow_backend.web.runs.execution_states import EXECUTION_STATES

    over = {state for state, execution in EXECUTION_STATES.items() if execution.is_terminal}
    assert over >= set(State.finished)
    # and beyond them the one whose attempt is over though the task is not
    assert {state.value for state in over - set(State.finished) if state} == {"up_for_retry"}
