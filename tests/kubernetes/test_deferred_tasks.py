"""A task waits for its driver's pod in the triggerer; the test says what becomes of the pod, and no driver runs."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.executed_regions import Store, context_of, execute, folder_of, leave_report, outcome
from tests.kubernetes.conftest import operator_of, plain
from tests.kubernetes.recording_api import RecordingApi

if TYPE_CHECKING:
    from graph_compiler.airflow_backend.task.following.application_trigger import ApplicationTrigger
    from graph_compiler.airflow_backend.task.task_operator import DeploymentTaskOperator

pytestmark = [pytest.mark.kubernetes, pytest.mark.filterwarnings("default")]
FIRST, SECOND = "01a1", "01a2"


def deferrable(value: str = "true") -> "DeploymentTaskOperator":
    return operator_of(plain(**{"execution.deferrable": value}))


def defer(operator: "DeploymentTaskOperator", store: Store, execution: str = FIRST) -> Any:
    """Execute a try until it defers, and return what it tells Airflow."""
    from airflow.sdk.exceptions import TaskDeferred

    with pytest.raises(TaskDeferred) as raised:
        execute(operator, store, execution)
    return raised.value


def restarted(trigger: "ApplicationTrigger") -> "ApplicationTrigger":
    """Return a trigger as Airflow's triggerer creates it, from what its database has."""
    from airflow.sdk._shared.module_loading import import_string

    path, arguments = trigger.serialize()
    found = import_string(path)(**json.loads(json.dumps(arguments)))
    found.poll_interval = 0.05
    return found  # type: ignore[no-any-return]


async def first(events: AsyncIterator[Any], seconds: float) -> Any:
    async with asyncio.timeout(seconds):
        return (await anext(aiter(events))).payload


def fire(trigger: "ApplicationTrigger", seconds: float = 30) -> Any:
    """Run a trigger until it fires; raises TimeoutError if it does not."""
    return asyncio.run(first(restarted(trigger).run(), seconds))


def resume(store: Store, event: object, execution: str = FIRST) -> Any:
    """Continue a try in another process."""
    operator = deferrable()
    context = context_of(operator, store, execution)
    return operator.resume_execution("execute_complete", {"event": event}, context)


@pytest.fixture(autouse=True)
def soon(cluster: RecordingApi, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow.providers.apache.spark.hooks import spark_submit

    assert cluster.requests == []
    monkeypatch.setattr(spark_submit, "time", SimpleNamespace(sleep=lambda _: None))


@pytest.fixture
def store() -> Store:
    return Store()


def test_a_try_continues_when_its_pod_has_ended(cluster: RecordingApi, store: Store) -> None:
    deferred = defer(operator := deferrable(), store)
    folder, (pod,) = folder_of(operator, FIRST), cluster.pods()
    assert deferred.method_name == "execute_complete"
    assert outcome(folder) is None, "it has not ended"
    cluster.set_phase(pod, "Running")
    with pytest.raises(TimeoutError):
        fire(deferred.trigger, seconds=0.5)
    assert cluster.has_pods(), "a triggerer that stops ends nothing"
    cluster.set_phase(pod, "Succeeded")
    event = fire(deferred.trigger)
    assert event == {"application": f"jobs:{pod}", "status": "Succeeded"}
    leave_report(folder)
    resume(store, event)
    assert outcome(folder) == "FINISHED"
    assert cluster.pods() == [pod]
    assert not cluster.has_pods(), "the provider removes a pod that has succeeded"


@pytest.mark.parametrize("is_there", [True, False])
def test_a_pod_that_failed_or_is_gone_without_a_report_fails_its_own_try(
    cluster: RecordingApi, store: Store, *, is_there: bool
) -> None:
    from airflow.sdk.exceptions import AirflowException, AirflowFailException

    deferred = defer(operator := deferrable(), store)
    (pod,) = cluster.pods()
    cluster.set_phase(pod, "Failed") if is_there else cluster.remove(pod)
    event = fire(deferred.trigger)
    with pytest.raises(AirflowException, match="without a report|left no report") as raised:
        resume(store, event)
    assert not isinstance(raised.value, AirflowFailException), "a retry may help"
    assert outcome(folder_of(operator, FIRST)) == "FAILED"
    assert cluster.pods() == [pod]


def test_the_report_decides_whatever_became_of_the_pod(cluster: RecordingApi, store: Store) -> None:
    deferred = defer(operator := deferrable(), store)
    leave_report(folder_of(operator, FIRST))
    cluster.remove(cluster.pods()[0])
    resume(store, fire(deferred.trigger))
    assert outcome(folder_of(operator, FIRST)) == "FINISHED"


def test_a_cluster_that_does_not_answer_is_asked_again(cluster: RecordingApi, store: Store) -> None:
    deferred = defer(deferrable(), store)
    cluster.set_phase(cluster.pods()[0], "Succeeded")
    cluster.is_silent = True
    with pytest.raises(TimeoutError):
        fire(deferred.trigger, seconds=0.5)
    cluster.is_silent = False
    assert fire(deferred.trigger)["status"] == "Succeeded"


def test_a_task_that_is_marked_or_cleared_ends_its_pod(cluster: RecordingApi, store: Store) -> None:
    deferred = defer(operator := deferrable(), store)
    cluster.set_phase(cluster.pods()[0], "Running")
    asyncio.run(restarted(deferred.trigger).on_kill())
    assert not cluster.has_pods()
    assert outcome(folder_of(operator, FIRST)) == "CANCELED"
    defer(deferrable(), store, SECOND)
    assert len(set(cluster.pods())) == 2


def test_a_task_that_was_cleared_without_a_triggerer_ends_its_pod_before_the_next(
    cluster: RecordingApi, store: Store
) -> None:
    defer(operator := deferrable(), store)
    (before,) = cluster.pods()
    cluster.set_phase(before, "Running")
    deferred = defer(deferrable(), store, SECOND)
    _, now = cluster.pods()
    assert {name for kind, name in cluster.resources if kind == "pods"} == {now}
    assert outcome(folder_of(operator, FIRST)) == "CANCELED"
    leave_report(folder_of(operator, SECOND))
    cluster.set_phase(now, "Succeeded")
    resume(store, fire(deferred.trigger), SECOND)
    assert outcome(folder_of(operator, SECOND)) == "FINISHED"


def test_what_a_cleared_task_has_finished_meanwhile_counts(cluster: RecordingApi, store: Store) -> None:
    defer(operator := deferrable(), store)
    leave_report(folder_of(operator, FIRST))
    execute(deferrable(), store, SECOND)
    assert outcome(folder_of(operator, FIRST)) == "FINISHED"
    assert len(cluster.pods()) == 1


@pytest.mark.parametrize("error", ["Trigger timeout", "Trigger failure"])
def test_a_timeout_or_a_trigger_that_fails_ends_the_pod(cluster: RecordingApi, store: Store, error: str) -> None:
    from airflow.sdk.exceptions import TaskDeferralError, TaskDeferralTimeout

    defer(operator := deferrable(), store)
    cluster.set_phase(cluster.pods()[0], "Running")
    again = deferrable()
    with pytest.raises((TaskDeferralError, TaskDeferralTimeout), match=error):
        again.resume_execution("__fail__", {"error": error}, context_of(again, store, FIRST))
    assert not cluster.has_pods()
    assert outcome(folder_of(operator, FIRST)) == "CANCELED"


def test_a_timeout_is_that_of_the_try(store: Store) -> None:
    operator = deferrable()
    assert defer(operator, store).timeout is None
    limited = deferrable()
    limited.execution_timeout = timedelta(minutes=5)
    limited.on_kill = lambda: None  # type: ignore[method-assign]
    timeout = defer(limited, store, SECOND).timeout
    assert timedelta(minutes=4) < timeout < timedelta(minutes=5)


@pytest.mark.parametrize(
    ("option", "airflow", "defers"),
    [("true", "False", True), ("false", "True", False), (None, "True", True), (None, "False", False)],
)
def test_the_option_wins_over_airflows_setting(
    cluster: RecordingApi,
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    option: str | None,
    airflow: str,
    *,
    defers: bool,
) -> None:
    monkeypatch.setenv("AIRFLOW__OPERATORS__DEFAULT_DEFERRABLE", airflow)
    operator = operator_of(plain()) if option is None else deferrable(option)

    def succeed(pod: dict[str, Any]) -> None:
        leave_report(folder_of(operator, FIRST))
        cluster.set_phase(pod["metadata"]["name"], "Succeeded")

    cluster.on_pod = succeed
    act: Callable[..., Any] = defer if defers else execute
    act(operator, store, FIRST)
    assert outcome(folder_of(operator, FIRST)) == (None if defers else "FINISHED")
