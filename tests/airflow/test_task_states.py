"""What the client knows of Airflow, states and names of settings, is what the installed Airflow has."""

import pytest

from tests.harness.installed_airflow import HAS_ALL

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]

SINCE_3_3 = {"awaiting_input"}


def test_every_airflow_state_maps_to_a_flink_state() -> None:
    from airflow.sdk import TaskInstanceState

    from graph_compiler.run_client.run_status import EXECUTION_STATES

    assert set(EXECUTION_STATES) - SINCE_3_3 == {None, *(state.value for state in TaskInstanceState)} - SINCE_3_3
    assert ({state.value for state in TaskInstanceState} >= SINCE_3_3) == HAS_ALL


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


def test_settings_of_the_api_and_its_passwords_have_these_names_and_defaults() -> None:
    from airflow.configuration import conf

    from graph_compiler.run_client import login

    core = conf.configuration_description["core"]["options"]
    assert core["auth_manager"]["default"].rpartition(".")[2] == login._SIMPLE
    assert core["simple_auth_manager_users"]["default"] == "admin:admin"
    described = core["simple_auth_manager_passwords_file"]["description"]
    assert "AIRFLOW_HOME/simple_auth_manager_passwords.json.generated" in described
    api = conf.configuration_description["api"]["options"]
    assert [api[key]["default"] for key in ("base_url", "host", "port")] == [None, "0.0.0.0", "8080"]
    for name, earlier in login._EARLIER.items():
        assert conf.deprecated_options[name][:2] == earlier
