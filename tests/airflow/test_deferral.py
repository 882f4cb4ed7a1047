"""Waiting in the triggerer: who may, and what a task leaves behind when it defers. What it does: tests/kubernetes."""

from pathlib import Path

import pytest

from graph_compiler.deployment.documents.staging_layout import OUTCOME
from graph_compiler.deployment.targets.execution_target import ExecutionTarget
from graph_compiler.deployment.targets.known_targets import BUILT_IN, KUBERNETES, STANDALONE, YARN
from tests.airflow.test_sent_metrics import start, task
from tests.harness.installed_airflow import HAS_ALL

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]


@pytest.mark.parametrize("target", BUILT_IN, ids=lambda target: target.name)
@pytest.mark.parametrize("wanted", [True, None])
def test_only_drivers_in_a_cluster_are_waited_for_in_the_triggerer(
    target: ExecutionTarget, wanted: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from graph_compiler.airflow_backend.provider.submit_target import ExecutionTargetError
    from graph_compiler.airflow_backend.task.following.application_operator import is_deferrable

    monkeypatch.setenv("AIRFLOW__OPERATORS__DEFAULT_DEFERRABLE", "True")

    for place in (target.client, target.cluster):
        if place in (YARN.cluster, KUBERNETES.cluster):
            assert is_deferrable(place, wanted, "t") is HAS_ALL
            assert not is_deferrable(place, False, "t")
        elif wanted and HAS_ALL:
            with pytest.raises(ExecutionTargetError, match="must stay"):
                is_deferrable(place, wanted, "t")
        else:
            assert not is_deferrable(place, wanted, "t")


def test_without_airflows_setting_no_task_defers() -> None:
    from graph_compiler.airflow_backend.task.following.application_operator import is_deferrable

    assert not is_deferrable(YARN.cluster, None, "t")
    assert not is_deferrable(STANDALONE.client, None, "t")


def test_a_try_that_defers_has_not_ended(tmp_path: Path) -> None:
    from airflow.sdk.exceptions import TaskDeferred

    from graph_compiler.airflow_backend.task.driver_end import recording
    from graph_compiler.airflow_backend.task.task_try import TaskTry

    key = start(tmp_path, "one")

    def defer() -> None:
        with recording(TaskTry([task(tmp_path, "one")]), lambda: False):
            raise TaskDeferred(trigger=None, method_name="execute_complete")

    with pytest.raises(TaskDeferred):
        defer()
    assert not Path(key).with_name(OUTCOME).exists()


def test_a_trigger_is_created_again_from_what_airflow_stores() -> None:
    from airflow.serialization.serialized_objects import BaseSerialization

    from graph_compiler.airflow_backend.task.following.application_trigger import ApplicationTrigger

    trigger = ApplicationTrigger(
        application="application_1_0001",
        conn_id="spark_default",
        deploy_mode=None,
        descriptors=["/staging/p/r/tasks/out/e/descriptor.json"],
        staging_root="/staging",
        staging_conn_id=None,
        poll_interval=10.0,
    )
    path, arguments = trigger.serialize()
    assert path.rpartition(".")[2] == "ApplicationTrigger"
    stored = BaseSerialization.deserialize(BaseSerialization.serialize(arguments))
    assert ApplicationTrigger(**stored).serialize() == (path, arguments)
