"""A task follows its driver's pod; what becomes of the pod is said by the test, and no driver runs."""

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.executed_regions import Store, execute, folder_of, leave_report, outcome
from tests.kubernetes.conftest import operator_of, plain
from tests.kubernetes.recording_api import RecordingApi, Resource

if TYPE_CHECKING:
    from graph_compiler.airflow_backend.task.task_operator import DeploymentTaskOperator

pytestmark = [pytest.mark.kubernetes, pytest.mark.filterwarnings("default")]
FIRST, SECOND = "01a1", "01a2"


class WorkerDiesError(BaseException):
    """The task's process is gone: nothing after it is written."""


@pytest.fixture
def operator(cluster: RecordingApi) -> "DeploymentTaskOperator":
    assert cluster.requests == []
    return operator_of(plain())


@pytest.fixture
def between_polls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list of what happens next, each time before the provider asks again."""
    from airflow.providers.apache.spark.hooks import spark_submit

    events: list[Any] = []

    def sleep(_: float) -> None:
        time.sleep(0.05)
        if events:
            events.pop(0)()

    monkeypatch.setattr(spark_submit, "time", SimpleNamespace(sleep=sleep))
    return events


def dies() -> None:
    raise WorkerDiesError


def die(operator: "DeploymentTaskOperator", store: Store) -> None:
    """Submit; the task's process dies while it waits, and writes no outcome."""
    with pytest.raises(WorkerDiesError):
        execute(operator, store, FIRST)
    (folder_of(operator, FIRST) / "outcome.json").unlink()


def phase(cluster: RecordingApi, name: str) -> Callable[[], None]:
    return lambda: cluster.set_phase(cluster.pods()[-1], name)


def gone(cluster: RecordingApi) -> Callable[[], None]:
    return lambda: cluster.remove(cluster.pods()[-1])


def test_a_pod_is_waited_for(
    cluster: RecordingApi, operator: "DeploymentTaskOperator", between_polls: list[Any]
) -> None:
    folder, running = folder_of(operator, FIRST), phase(cluster, "Running")
    ends = phase(cluster, "Succeeded")
    between_polls += [running, lambda: leave_report(folder), ends]
    execute(operator, Store(), FIRST)
    assert between_polls == []
    assert outcome(folder) == "FINISHED"
    assert not cluster.has_pods(), "the provider removes a pod that has succeeded"


def test_a_running_pod_of_a_try_that_died_is_followed(
    cluster: RecordingApi, operator: "DeploymentTaskOperator", between_polls: list[Any]
) -> None:
    store, folder = Store(), folder_of(operator, FIRST)
    between_polls += [phase(cluster, "Running"), dies]
    die(operator, store)
    between_polls += [lambda: leave_report(folder), phase(cluster, "Succeeded")]
    execute(operator_of(plain()), store, SECOND)
    assert len(cluster.pods()) == 1
    assert outcome(folder) == "FINISHED"
    assert not folder_of(operator, SECOND).exists()


def test_a_pod_is_found_though_its_try_died_before_its_id_was_stored(
    cluster: RecordingApi, operator: "DeploymentTaskOperator", between_polls: list[Any]
) -> None:
    class Dying(Store):
        def set(self, key: str, value: Any) -> None:
            if key == operator.external_id_key:
                raise WorkerDiesError
            super().set(key, value)

    store, folder = Dying(), folder_of(operator, FIRST)
    die(operator, store)
    between_polls += [lambda: leave_report(folder), phase(cluster, "Succeeded")]
    execute(operator_of(plain()), Store(store), SECOND)
    assert len(cluster.pods()) == 1
    assert outcome(folder) == "FINISHED"


@pytest.mark.parametrize("ends", [phase, gone])
def test_a_pod_that_failed_or_is_gone_has_succeeded_if_its_report_says_so(
    ends: Any, cluster: RecordingApi, operator: "DeploymentTaskOperator", between_polls: list[Any]
) -> None:
    folder = folder_of(operator, FIRST)
    end = ends(cluster, "Failed") if ends is phase else ends(cluster)
    between_polls += [phase(cluster, "Running"), lambda: leave_report(folder), end]
    execute(operator, Store(), FIRST)
    assert outcome(folder) == "FINISHED"


def test_a_pod_that_is_gone_without_a_report_has_failed(
    cluster: RecordingApi, operator: "DeploymentTaskOperator", between_polls: list[Any]
) -> None:
    from airflow.sdk.exceptions import AirflowException, AirflowFailException

    between_polls += [phase(cluster, "Running"), gone(cluster)]
    with pytest.raises(AirflowException, match="driver is gone, and left no report") as raised:
        execute(operator, Store(), FIRST)
    assert not isinstance(raised.value, AirflowFailException), "a retry may help"
    assert outcome(folder_of(operator, FIRST)) == "FAILED"


def test_a_pod_that_failed_without_a_report_has_failed(
    cluster: RecordingApi, operator: "DeploymentTaskOperator", between_polls: list[Any]
) -> None:
    from airflow.sdk.exceptions import AirflowException

    between_polls += [phase(cluster, "Failed")]
    with pytest.raises(AirflowException, match="without a report: .*phase=Failed"):
        execute(operator, Store(), FIRST)
    assert outcome(folder_of(operator, FIRST)) == "FAILED"


@pytest.mark.parametrize("ends", [phase, gone])
def test_after_a_pod_that_ended_unseen_and_left_no_report_another_one_is_started(
    ends: Any, cluster: RecordingApi, operator: "DeploymentTaskOperator", between_polls: list[Any]
) -> None:
    store = Store()
    between_polls += [dies]
    die(operator, store)
    (ends(cluster, "Failed") if ends is phase else ends(cluster))()

    def succeed(pod: Resource) -> None:
        leave_report(folder_of(operator, SECOND))
        cluster.set_phase(pod["metadata"]["name"], "Succeeded")

    cluster.on_pod = succeed
    execute(operator_of(plain()), store, SECOND)
    first, second = cluster.pods()
    assert first != second
    outcomes = [outcome(folder_of(operator, each)) for each in (FIRST, SECOND)]
    assert outcomes == ["FAILED", "FINISHED"]


@pytest.mark.parametrize("followed", [False, True])
def test_a_killed_task_deletes_its_pod(
    followed: bool, cluster: RecordingApi, operator: "DeploymentTaskOperator", between_polls: list[Any]
) -> None:
    from airflow.sdk.exceptions import AirflowException

    store, killed = Store(), operator
    if followed:
        between_polls += [dies]
        die(operator, store)
        killed = operator_of(plain())
    between_polls += [phase(cluster, "Running"), killed.on_kill]
    with pytest.raises(AirflowException):
        execute(killed, store, SECOND if followed else FIRST)
    assert not cluster.has_pods()
    assert len(cluster.pods()) == 1
    assert outcome(folder_of(operator, FIRST)) == "CANCELED"


def test_a_cluster_that_does_not_answer_has_not_ended_a_pod(
    cluster: RecordingApi, operator: "DeploymentTaskOperator", between_polls: list[Any]
) -> None:
    from airflow.sdk.exceptions import AirflowException

    store, folder = Store(), folder_of(operator, FIRST)

    def silent() -> None:
        cluster.is_silent = True

    between_polls += [phase(cluster, "Running"), silent]
    with pytest.raises(AirflowException, match="does not say what became of application jobs:"):
        execute(operator, store, FIRST)
    assert outcome(folder) is None
    cluster.is_silent = False
    between_polls += [lambda: leave_report(folder), phase(cluster, "Succeeded")]
    execute(operator_of(plain()), store, SECOND)
    assert len(cluster.pods()) == 1
    assert outcome(folder) == "FINISHED"


def test_each_execution_has_its_own_pod() -> None:
    from graph_compiler.airflow_backend.provider.submit_target import pod_name

    names = [
        pod_name(pipeline, region, execution)
        for pipeline, region in (("sales", "out"), ("Überfall_7", "x" * 90), ("7", "_"), ("ß", "ß"))
        for execution in (FIRST, SECOND)
    ]
    assert len(set(names)) == len(names)
    for name in names:
        assert len(name) <= 63
        assert name.isascii()
        assert name[0].isalpha()
        assert name.endswith("-driver")
        assert "--" not in name
