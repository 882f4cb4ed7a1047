"""Every state of an Airflow task is one of Flink's."""

import pytest

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]


def test_every_airflow_state_maps_to_a_flink_state() -> None:
    from airflow.sdk import TaskInstanceState

    from graph_compiler.run_client.run_status import EXECUTION_STATES

    assert set(EXECUTION_STATES) == {None, *(state.value for state in TaskInstanceState)}


def test_airflows_final_states_are_final_here() -> None:
    from airflow.utils.state import State

    from graph_compiler.run_client.run_status import EXECUTION_STATES

    over = {state for state, execution in EXECUTION_STATES.items() if execution.is_terminal}
    finished = {state.value for state in State.finished}
    assert over >= finished
    # and beyond them the one whose attempt is over though the task is not
    assert over - finished == {"up_for_retry"}


def test_every_airflow_state_of_a_run_is_one_of_flinks_jobs() -> None:
    from airflow.utils.state import DagRunState, State

    from graph_compiler.run_client.run_status import RUN_STATES

    assert set(RUN_STATES) == {state.value for state in DagRunState}
    over = {name for name, state in RUN_STATES.items() if state.is_terminal}
    assert over == {state.value for state in State.finished_dr_states}
