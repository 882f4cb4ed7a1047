"""A task finds the application of its earlier try again: YARN and spark-submit are replaced, the provider is not."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from graph_compiler import Parquet, StreamExecutionEnvironment, Values
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_pipeline
from graph_compiler.deployment.documents.report import Failure, ThrowableType
from graph_compiler.identifiers import path_segment
from tests.harness import executed_regions
from tests.harness.executed_regions import RUN, StagedStore, Store, execute
from tests.harness.installed_airflow import HAS_ALL

if TYPE_CHECKING:
    from graph_compiler.airflow_backend.task.task_operator import DeploymentTaskOperator

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]
RUNNING = ("RUNNING", "UNDEFINED")
SUCCEEDED = ("FINISHED", "SUCCEEDED")
BROKEN = ("FINISHED", "FAILED")
KILLED = ("KILLED", "KILLED")
FIRST, SECOND, THIRD = "01a1", "01a2", "01a3"


class WorkerDiesError(BaseException):
    """The task's process is gone: nothing after it is written."""


class Yarn:
    """A ResourceManager and the spark-submit that talks to it; an application has the states to come."""

    def __init__(self) -> None:
        self.submitted: list[list[str]] = []
        self.states: dict[str, list[tuple[str, str]]] = {}
        self.next: list[tuple[str, str]] = [SUCCEEDED]
        self.killed: list[str] = []
        self.when_asked: Callable[[], None] = lambda: None
        self.error: int | None = None

    def popen(self, command: list[str], **_: Any) -> Any:
        self.submitted.append(command)
        id = f"application_1_{len(self.submitted):04}"
        self.states[id] = list(self.next)
        return SimpleNamespace(pid=-1, stdout=[f"Submitted application {id}\n"], wait=lambda: 0, poll=lambda: 0)

    def get(self, url: str, **_: Any) -> Any:
        self.when_asked()
        states = self.states.get(url.rpartition("/")[2])
        code = self.error or (200 if states else 404)
        state, final = (states.pop(0) if len(states) > 1 else states[0]) if states else ("", "")
        app = {"app": {"state": state, "finalStatus": final, "diagnostics": "words of YARN"}}
        return SimpleNamespace(status_code=code, text="no HTTP 404 here", json=lambda: app)

    def put(self, url: str, **_: Any) -> Any:
        id = url.split("/")[-2]
        self.killed.append(id)
        self.states[id] = [KILLED]
        return SimpleNamespace(status_code=202)


@pytest.fixture
def yarn(monkeypatch: pytest.MonkeyPatch) -> Yarn:
    import subprocess

    import requests
    from airflow.providers.apache.spark.hooks import spark_submit

    found = Yarn()
    pipes = {"PIPE": subprocess.PIPE, "STDOUT": subprocess.STDOUT}
    monkeypatch.setattr(spark_submit, "subprocess", SimpleNamespace(Popen=found.popen, **pipes))
    monkeypatch.setattr(spark_submit, "time", SimpleNamespace(sleep=lambda _: None))
    monkeypatch.setattr(requests, "get", found.get)
    monkeypatch.setattr(requests, "put", found.put)
    connect(monkeypatch)
    return found


def connect(monkeypatch: pytest.MonkeyPatch, mode: str = "cluster", **extra: str) -> None:
    extra = extra or {"yarn_resourcemanager_webapp_address": "rm:8088"}
    connection = {"conn_type": "spark", "host": "yarn", "extra": {"deploy-mode": mode, **extra}}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connection))


@pytest.fixture(params=["Airflow's", "in the run's folder"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """Airflow's task state store, or what takes its place in an Airflow without one."""
    if request.param != "Airflow's":
        return StagedStore(tmp_path / "root" / "p" / path_segment(RUN) / "states" / "out")
    if not HAS_ALL:
        pytest.skip("this Airflow has none")
    return Store()


@pytest.fixture
def operator(tmp_path: Path) -> "DeploymentTaskOperator":
    return operator_of(tmp_path)


def operator_of(tmp_path: Path, rows: int = 1, **more: Any) -> "DeploymentTaskOperator":
    from graph_compiler.airflow_backend.dag.arguments import Arguments
    from graph_compiler.airflow_backend.installation.settings import Settings
    from graph_compiler.airflow_backend.task.task_operator import DeploymentTaskOperator

    env = StreamExecutionEnvironment("p")
    env.from_source(Values([(1,)] * rows, "x INT"), "in").sink_to(Parquet("/out")).name("out")
    described = describe_pipeline(compile_pipeline(env.pipeline()))
    operator = DeploymentTaskOperator(
        regions=described.regions,
        plan=described.plan,
        arguments=Arguments.own(env.pipeline()),
        settings=Settings(staging_root=str(tmp_path / "root")),
        **more,
    )
    operator.parameters = {"run_date": "2013-01-01"}
    return operator


def folder(tmp_path: Path, execution: str) -> Path:
    return tmp_path / "root" / "p" / path_segment(RUN) / "tasks" / "out" / execution


def leave_report(tmp_path: Path, execution: str, failure: Failure | None = None) -> None:
    executed_regions.leave_report(folder(tmp_path, execution), failure)


def outcome(tmp_path: Path, execution: str) -> str | None:
    return executed_regions.outcome(folder(tmp_path, execution))


def die(yarn: Yarn, operator: "DeploymentTaskOperator", store: Store, tmp_path: Path) -> None:
    """Submit, and let the task's process die while the application runs: no outcome is written."""
    yarn.next = [RUNNING]
    asked = []

    def dies() -> None:
        asked.append(1)
        raise WorkerDiesError

    yarn.when_asked = dies
    with pytest.raises(WorkerDiesError):
        execute(operator, store, FIRST)
    (folder(tmp_path, FIRST) / "outcome.json").unlink()  # a dead process would not have written it
    yarn.when_asked = lambda: None
    assert asked
    assert store["spark_job_id"] == "application_1_0001"


def test_a_running_application_is_waited_for_and_its_execution_goes_on(
    yarn: Yarn, operator: "DeploymentTaskOperator", store: Store, tmp_path: Path
) -> None:
    die(yarn, operator, store, tmp_path)
    polls = iter(range(9))

    def ends_at_the_third() -> None:
        if next(polls) == 2:
            leave_report(tmp_path, FIRST)
            yarn.states["application_1_0001"] = [SUCCEEDED]

    yarn.when_asked = ends_at_the_third
    execute(operator_of(tmp_path), store, SECOND)
    assert len(yarn.submitted) == 1
    assert outcome(tmp_path, FIRST) == "FINISHED"
    assert not folder(tmp_path, SECOND).exists(), "no descriptor, no place in the order"


def test_a_report_is_enough_even_if_no_cluster_answers(
    yarn: Yarn, operator: "DeploymentTaskOperator", store: Store, tmp_path: Path
) -> None:
    die(yarn, operator, store, tmp_path)
    leave_report(tmp_path, FIRST)
    yarn.error = 500
    execute(operator_of(tmp_path), store, SECOND)
    assert len(yarn.submitted) == 1
    assert outcome(tmp_path, FIRST) == "FINISHED"


def test_the_failure_that_a_followed_driver_reports_is_the_message(
    yarn: Yarn, operator: "DeploymentTaskOperator", store: Store, tmp_path: Path
) -> None:
    from airflow.sdk.exceptions import AirflowFailException

    die(yarn, operator, store, tmp_path)
    words = Failure(
        throwable_type=ThrowableType.NON_RECOVERABLE_ERROR, operator="in", declared_at=None, message="no column 'x'"
    )
    yarn.states["application_1_0001"] = [RUNNING, BROKEN]

    def reports() -> None:
        leave_report(tmp_path, FIRST, words)

    asked = iter(range(9))
    yarn.when_asked = lambda: reports() if next(asked) == 1 else None
    with pytest.raises(AirflowFailException, match="operator 'in': no column 'x'"):
        execute(operator_of(tmp_path), store, SECOND)
    assert outcome(tmp_path, FIRST) == "FAILED"


@pytest.mark.parametrize("states", [[BROKEN], [KILLED], [SUCCEEDED], []])
def test_an_application_that_ended_without_a_report_is_submitted_anew(
    states: list[tuple[str, str]], yarn: Yarn, operator: "DeploymentTaskOperator", store: Store, tmp_path: Path
) -> None:
    """The last one is an application that YARN has forgotten: it answers 404."""
    die(yarn, operator, store, tmp_path)
    yarn.states["application_1_0001"] = states
    yarn.next = [SUCCEEDED]
    yarn.when_asked = lambda: leave_report(tmp_path, SECOND) if folder(tmp_path, SECOND).exists() else None
    execute(operator_of(tmp_path), store, SECOND)
    assert len(yarn.submitted) == 2
    assert (outcome(tmp_path, FIRST), outcome(tmp_path, SECOND)) == ("FAILED", "FINISHED")
    assert store["spark_job_id"] == "application_1_0002"


def test_without_an_answer_nothing_is_submitted_and_nothing_has_ended(
    yarn: Yarn, operator: "DeploymentTaskOperator", store: Store, tmp_path: Path
) -> None:
    from airflow.sdk.exceptions import AirflowException, AirflowFailException

    die(yarn, operator, store, tmp_path)
    yarn.error = 502  # its page says 404 somewhere
    with pytest.raises(AirflowException, match="does not say what became of") as raised:
        execute(operator_of(tmp_path), store, SECOND)
    assert not isinstance(raised.value, AirflowFailException), "the next try asks again"
    assert len(yarn.submitted) == 1
    assert outcome(tmp_path, FIRST) is None
    yarn.error = None
    leave_report(tmp_path, FIRST)
    execute(operator_of(tmp_path), store, THIRD)
    assert len(yarn.submitted) == 1


def test_an_application_that_can_no_longer_be_asked_has_not_ended(
    yarn: Yarn, operator: "DeploymentTaskOperator", store: Store, tmp_path: Path
) -> None:
    from airflow.sdk.exceptions import AirflowException

    yarn.error = 500
    with pytest.raises(AirflowException, match="does not say what became of"):
        execute(operator, store, FIRST)
    assert outcome(tmp_path, FIRST) is None


def test_a_finished_job_does_not_fail_because_its_cluster_is_gone(
    yarn: Yarn, operator: "DeploymentTaskOperator", store: Store, tmp_path: Path
) -> None:
    def reports() -> None:
        leave_report(tmp_path, FIRST)

    yarn.error, yarn.when_asked = 500, reports
    execute(operator, store, FIRST)
    assert outcome(tmp_path, FIRST) == "FINISHED"


def test_an_error_of_a_client_counts_as_no_answer(
    yarn: Yarn, operator: "DeploymentTaskOperator", store: Store, tmp_path: Path
) -> None:
    from airflow.sdk.exceptions import AirflowException

    def breaks() -> None:
        raise LookupError("the client's own")

    yarn.when_asked = breaks
    with pytest.raises(AirflowException, match="does not say what became of .* the client's own"):
        execute(operator, store, FIRST)
    assert outcome(tmp_path, FIRST) is None


def test_a_cleared_task_computes_again(yarn: Yarn, store: Store, tmp_path: Path) -> None:
    """Airflow keeps the state of a task when it is cleared: the provider alone would find it succeeded."""
    for number, execution in enumerate((FIRST, SECOND), 1):

        def reports(execution: str = execution) -> None:
            leave_report(tmp_path, execution)

        yarn.when_asked = reports
        execute(operator_of(tmp_path), store, execution)
        assert len(yarn.submitted) == number
        assert outcome(tmp_path, execution) == "FINISHED"


def test_a_changed_pipeline_is_submitted_anew(
    yarn: Yarn, operator: "DeploymentTaskOperator", store: Store, tmp_path: Path
) -> None:
    die(yarn, operator, store, tmp_path)
    yarn.next, yarn.when_asked = [SUCCEEDED], lambda: leave_report(tmp_path, SECOND)
    execute(operator_of(tmp_path, rows=2), store, SECOND)
    assert len(yarn.submitted) == 2


def test_another_deploy_mode_is_submitted_anew(
    yarn: Yarn, operator: "DeploymentTaskOperator", store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The provider would ask a standalone master for the application, at each try."""
    from airflow.sdk.exceptions import AirflowException

    die(yarn, operator, store, tmp_path)
    connect(monkeypatch, mode="client")
    with pytest.raises(AirflowException, match="ended with exit code 0") as raised:
        execute(operator_of(tmp_path), store, SECOND)
    assert "follow" not in str(raised.value)
    assert len(yarn.submitted) == 2
    assert (outcome(tmp_path, FIRST), outcome(tmp_path, SECOND)) == ("FAILED", "FAILED")


def test_a_killed_task_kills_the_application_that_it_follows(
    yarn: Yarn, operator: "DeploymentTaskOperator", store: Store, tmp_path: Path
) -> None:
    from airflow.sdk.exceptions import AirflowException

    die(yarn, operator, store, tmp_path)
    second = operator_of(tmp_path)
    asked = iter(range(9))
    yarn.when_asked = lambda: second.on_kill() if next(asked) == 0 else None
    with pytest.raises(AirflowException):
        execute(second, store, SECOND)
    assert yarn.killed == ["application_1_0001"]
    assert outcome(tmp_path, FIRST) == "CANCELED"


def test_a_setting_by_which_spark_submit_would_wait_is_refused_before_submission(
    yarn: Yarn, store: Store, tmp_path: Path
) -> None:
    from airflow.sdk.exceptions import AirflowFailException

    operator = operator_of(tmp_path)
    operator.conf = {"spark.yarn.submit.waitAppCompletion": "true"}
    with pytest.raises(AirflowFailException, match="remove the setting spark.yarn.submit.wait"):
        execute(operator, store, FIRST)
    assert yarn.submitted == []


def test_a_connection_without_the_address_of_yarn_is_refused_before_submission(
    yarn: Yarn, operator: "DeploymentTaskOperator", store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow.sdk.exceptions import AirflowFailException

    connect(monkeypatch, queue="default")
    with pytest.raises(AirflowFailException, match="hint: .*yarn_resourcemanager_webapp_address"):
        execute(operator, store, FIRST)
    assert yarn.submitted == []


def test_a_try_that_was_replaced_does_not_say_what_is_followed(
    yarn: Yarn, operator: "DeploymentTaskOperator", tmp_path: Path
) -> None:
    """Its spark-submit took so long that Airflow began the next try: that one's application is followed."""
    store = StagedStore(tmp_path / "root" / "p" / path_segment(RUN) / "states" / "out")
    die(yarn, operator, store, tmp_path)
    state = tmp_path / "root" / "p" / path_segment(RUN) / "states" / "out" / "graph_compiler_execution.json"
    state.write_text(json.dumps({"value": THIRD}))
    operator.submit_job(executed_regions.context_of(operator, store, FIRST))
    assert len(yarn.submitted) == 2
    assert store["spark_job_id"] == "application_1_0001"
