"""From a rendered task to a descriptor on disk, and from a report to Airflow's result; spark-submit is replaced."""

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_pipeline
from graph_compiler.deployment.describe.templates import find_places
from graph_compiler.deployment.documents.descriptor import RegionDescriptor, TaskDeploymentDescriptor
from graph_compiler.deployment.documents.jvm_settings import OPTIONS
from graph_compiler.deployment.documents.report import ExecutionReport, Failure, Output, ThrowableType
from graph_compiler.deployment.documents.wire import to_wire
from graph_compiler.identifiers import TaskName
from pipelines.flights import env as flights

if TYPE_CHECKING:
    from graph_compiler.airflow_backend.task.task_operator import DeploymentTaskOperator

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]


def described_tasks() -> Mapping[TaskName, tuple[RegionDescriptor, ...]]:
    return describe_pipeline(compile_pipeline(flights.pipeline())).tasks()


@pytest.fixture
def operator(tmp_path: Path) -> "DeploymentTaskOperator":
    from graph_compiler.airflow_backend.dag.arguments import Arguments
    from graph_compiler.airflow_backend.installation.settings import Settings
    from graph_compiler.airflow_backend.task.task_operator import DeploymentTaskOperator

    (tmp_path / "staging" / "another_pipeline").mkdir(parents=True)  # a root that is in use
    described = describe_pipeline(compile_pipeline(flights.pipeline()))
    operator = DeploymentTaskOperator(
        regions=described.tasks()[TaskName("with_weather")],
        plan=described.plan,
        arguments=Arguments.own(flights.pipeline()),
        settings=Settings(staging_root=str(tmp_path / "staging")),
    )
    operator.places = {
        key: value.replace("{{ params.input }}", "/in").replace("{{ params.output }}", "/out")
        for key, value in operator.places.items()
    }
    operator.parameters = {"run_date": "2013-01-01", "input": "/in", "output": "/out", "late_after": "20"}
    return operator


def run(
    operator: "DeploymentTaskOperator",
    report: ExecutionReport | None,
    monkeypatch: pytest.MonkeyPatch,
    execution_id: str = "01a1",
) -> Any:
    """Execute with a spark-submit that leaves `report`, and fails if the report does."""
    from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
    from airflow.sdk.exceptions import AirflowException

    def submit(hook: Any, _: str, *, env: dict[str, str], start_new_session: bool, errors: str) -> None:
        assert "PYTHONPATH" in env
        assert start_new_session
        assert errors == "replace"
        (descriptor,) = hook._application_args
        if report is not None:
            Path(descriptor).with_name("report.json").write_text(json.dumps(to_wire(report)))
        if report is None or report.failure is not None:
            raise AirflowException("Cannot execute: spark-submit … Error code is: 1.")

    monkeypatch.setattr(SparkSubmitHook, "submit", submit)
    context: Any = {
        "ti": SimpleNamespace(
            dag_id="flights",
            task_id=operator.regions[0].task_name,
            map_index=-1,
            run_id="manual__1",
            id=execution_id,
            try_number=2,
        )
    }
    return operator.execute(context)


def finished(*outputs: Output) -> ExecutionReport:
    return replace(ExecutionReport.of_nothing(), application_id="local-1", outputs=outputs)


def failed(throwable_type: ThrowableType) -> ExecutionReport:
    failure = Failure(throwable_type=throwable_type, operator="flown", declared_at=None, message="no column 'x'")
    return replace(ExecutionReport.of_nothing(), application_id="local-1", failure=failure)


def test_the_descriptor_is_private_typed_and_complete(
    operator: "DeploymentTaskOperator", monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    output = Output(kind="sink", name="cancelled", location="/out/cancelled", rows=3, bytes=9)
    assert run(operator, finished(output), monkeypatch) == {
        "outputs": [{"name": "cancelled", "kind": "sink", "rows": 3, "bytes": 9, "location": "/out/cancelled"}],
        "vertices": [],
        "left_out": None,
    }
    path = tmp_path / "staging" / "flights" / "manual__1" / "tasks" / "with_weather" / "01a1" / "descriptor.json"
    assert os.stat(path).st_mode & 0o777 == 0o600
    task = TaskDeploymentDescriptor.from_json(path.read_text())
    assert (task.try_number, task.attempt.attempt_number) == (2, 0), "no earlier try has begun"
    assert dict(task.parameters)["late_after"] == 20
    assert task.region.vertices[0].operators[0].operator.connector.path == "/in/flights.csv"  # type: ignore[attr-defined]


def test_a_recoverable_failure_is_retried_and_logged(
    operator: "DeploymentTaskOperator", monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow.sdk.exceptions import AirflowException, AirflowFailException

    with pytest.raises(AirflowException) as raised:
        run(operator, failed(ThrowableType.RECOVERABLE_ERROR), monkeypatch)
    assert not isinstance(raised.value, AirflowFailException)
    assert str(raised.value) == "pipeline 'flights', operator 'flown': no column 'x'"


def test_a_permanent_failure_uses_no_retries(
    operator: "DeploymentTaskOperator", monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow.sdk.exceptions import AirflowFailException

    with pytest.raises(AirflowFailException, match="operator 'flown'"):
        run(operator, failed(ThrowableType.NON_RECOVERABLE_ERROR), monkeypatch)


def test_a_dead_driver_is_reported(operator: "DeploymentTaskOperator", monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow.sdk.exceptions import AirflowException

    with pytest.raises(AirflowException, match="the Spark driver ended without a report: .*Error code is: 1"):
        run(operator, None, monkeypatch)


def test_a_staging_root_without_a_commit_store_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from graph_compiler.airflow_backend.installation.settings import read_settings
    from graph_compiler.errors import StagingError

    monkeypatch.setenv("AIRFLOW__GRAPH_COMPILER__STAGING_ROOT", "s3://bucket")
    with pytest.raises(StagingError, match="Spark's name of this scheme is s3a:, not s3:"):
        read_settings()


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/in", "cancelled: it replaces /in, and 'flights' reads /in/flights.csv"),
        ("output/cancelled", "cancelled: its target is 'output/cancelled'"),
        ("s3://bucket/out", "'s3://bucket/out': Spark's name of this scheme is s3a:"),
        ("/out/../in", "cancelled: its target is '/out/../in'"),
    ],
)
def test_a_target_that_cannot_be_published_to_is_refused_before_anything_runs(
    path: str, words: str, operator: "DeploymentTaskOperator", monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from airflow.sdk.exceptions import AirflowFailException

    operator.places["cancelled.path"] = path
    with pytest.raises(AirflowFailException) as raised:
        run(operator, finished(), monkeypatch)
    assert words in str(raised.value)
    assert not list((tmp_path / "staging").rglob("*.json"))


def test_a_parameter_of_another_type_is_refused_by_name(
    operator: "DeploymentTaskOperator", monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow.sdk.exceptions import AirflowFailException

    operator.parameters["late_after"] = "soon"
    with pytest.raises(AirflowFailException, match="pipeline 'flights': parameter 'late_after' is 'soon'"):
        run(operator, finished(), monkeypatch)


def test_what_airflow_stores_of_a_task_holds_nothing_of_this_host(operator: "DeploymentTaskOperator") -> None:
    assert operator.env_vars is None


def test_a_task_with_inputs_requires_the_run_marker(
    monkeypatch: pytest.MonkeyPatch, operator: "DeploymentTaskOperator", tmp_path: Path
) -> None:
    from airflow.sdk.exceptions import AirflowException, AirflowFailException

    operator._regions = described_tasks()[TaskName("late_routes")]
    operator.places = {key: f"/{number}" for number, key in enumerate(find_places(operator.regions))}
    with pytest.raises(AirflowException, match="is not shared with this worker") as error:
        run(operator, finished(), monkeypatch)
    assert not isinstance(error.value, AirflowFailException), "another worker may see it"
    assert [path.name for path in (tmp_path / "staging").iterdir()] == ["another_pipeline"]


def test_a_retry_does_not_start_in_an_empty_unmounted_root(
    monkeypatch: pytest.MonkeyPatch, operator: "DeploymentTaskOperator", tmp_path: Path
) -> None:
    from airflow.sdk.exceptions import AirflowException, AirflowFailException

    (tmp_path / "staging" / "another_pipeline").rmdir()
    with pytest.raises(AirflowException, match="an empty folder, though this task") as error:
        run(operator, finished(), monkeypatch)
    assert not isinstance(error.value, AirflowFailException), "it may be mounted again by then"
    assert not list((tmp_path / "staging").iterdir())


def test_an_attempt_that_is_started_twice_runs_once(
    operator: "DeploymentTaskOperator", monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from airflow.sdk.exceptions import AirflowException, AirflowFailException

    run(operator, finished(), monkeypatch)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.json")}
    with pytest.raises(AirflowException, match="execution 01a1 of .* was started before") as error:
        run(operator, finished(), monkeypatch)
    assert not isinstance(error.value, AirflowFailException), "the next try has an id of its own"
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.json")} == before


def test_a_task_whose_input_has_another_plan_fails_without_retry(
    operator: "DeploymentTaskOperator", monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The first task ran one plan; the second belongs to a plan whose first task computes something else."""
    from airflow.sdk.exceptions import AirflowFailException

    run(operator, finished(), monkeypatch)
    (descriptor,) = tmp_path.rglob("descriptor.json")
    document = descriptor.read_text()
    (result,) = operator.regions[0].results
    assert document.count(result.fingerprint) == 1
    descriptor.write_text(document.replace(result.fingerprint, "f" * 64))
    operator._regions = described_tasks()[TaskName("late_routes")]
    operator.places = {key: f"/{number}" for number, key in enumerate(find_places(operator.regions))}
    with pytest.raises(AirflowFailException, match="the pipeline was changed during this run"):
        run(operator, finished(), monkeypatch, execution_id="01a2")
    assert not list(tmp_path.rglob("submission.json"))[1:], "no spark-submit"
    outcome = next(path for path in tmp_path.rglob("outcome.json") if "01a2" in path.parts)
    assert "FAILED" in outcome.read_text()


def test_a_canceled_task_records_its_end_before_it_is_killed(
    operator: "DeploymentTaskOperator", monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

    run(operator, finished(), monkeypatch)
    (outcome,) = tmp_path.rglob("outcome.json")
    finished_words = outcome.read_text()
    monkeypatch.setattr(SparkSubmitOperator, "on_kill", lambda _: None)
    operator.on_kill()
    assert outcome.read_text() == finished_words, "the first word stands"
    outcome.unlink()
    operator.on_kill()
    assert '"state": "CANCELED"' in outcome.read_text()


def test_the_jvm_exits_on_out_of_memory_whatever_options_are_set(
    operator: "DeploymentTaskOperator", monkeypatch: pytest.MonkeyPatch
) -> None:
    from graph_compiler.airflow_backend.provider.host_facts import driver_environment

    ends = "-XX:+ExitOnOutOfMemoryError"
    found = []
    for options in (None, "-Xss4m", f"{ends} -Xss4m"):
        if options is None:
            monkeypatch.delenv("SPARK_SUBMIT_OPTS", raising=False)
        else:
            monkeypatch.setenv("SPARK_SUBMIT_OPTS", options)
        found.append(driver_environment(operator.regions)["SPARK_SUBMIT_OPTS"])
    assert found == [f"{ends} {OPTIONS}", f"-Xss4m {ends} {OPTIONS}", f"{ends} -Xss4m {OPTIONS}"]
