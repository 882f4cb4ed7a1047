"""How an Airflow task handles the end of its Spark driver: its report, its exit code, its output."""

from pathlib import Path

import pytest

from graph_compiler import Parquet, StreamExecutionEnvironment, Values
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.descriptor import VERSION as DESCRIPTOR_VERSION
from graph_compiler.deployment.documents.descriptor import (
    ExecutionAttempt,
    TaskDeploymentDescriptor,
)
from graph_compiler.deployment.documents.report import (
    VERSION,
    ExecutionReport,
    Failure,
    ThrowableType,
)
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.staging.store.local_store import LocalStore

pytestmark = pytest.mark.airflow


@pytest.fixture
def task(tmp_path: Path) -> TaskDeploymentDescriptor:
    env = StreamExecutionEnvironment("p")
    env.from_source(Values([(1,)], "x INT"), "in").sink_to(Parquet("/out")).name("out")
    (region,) = describe_regions(compile_pipeline(env.pipeline()))
    return TaskDeploymentDescriptor(
        version=DESCRIPTOR_VERSION,
        identity=RunIdentity.own(region.pipeline, "r"),
        region=region,
        attempt=ExecutionAttempt(execution_id="e", attempt_number=0),
        staging_root=str(tmp_path),
        parameters=(),
    )


def why_failed(task: TaskDeploymentDescriptor, submitted: Exception | None) -> Exception | None:
    """Return what the task raises; imported here, since Airflow must not be imported before its home is set."""
    from graph_compiler.airflow_backend.task import driver_end

    return driver_end.why_failed(task, submitted, None)  # type: ignore[arg-type]  # what the hook raises


def fails_at_once(error: Exception | None) -> bool:
    from airflow.sdk.exceptions import AirflowFailException

    return isinstance(error, AirflowFailException)


def leave(task: TaskDeploymentDescriptor, failure: Failure | None) -> None:
    report = ExecutionReport(
        version=VERSION,
        application_id="a",
        outputs=(),
        contracts=(),
        vertices=(),
        actions=(),
        reads=(),
        recomputed=(),
        failure=failure,
    )
    key = task.layout.report(task.region.region_id, task.attempt.execution_id)
    LocalStore().put_if_absent(key, to_json(report).encode())


def failure(kind: ThrowableType) -> Failure:
    return Failure(throwable_type=kind, operator=None, declared_at=None, message="it broke")


def test_exit_code_0_without_a_report_fails_without_retry(
    task: TaskDeploymentDescriptor,
) -> None:
    error = why_failed(task, None)
    assert fails_at_once(error)
    assert "pipeline 'p', task 'out': Spark's driver ended with exit code 0" in str(error)
    assert "os._exit" in str(error)


def test_other_exit_codes_without_a_report_follow_the_restart_strategy(
    task: TaskDeploymentDescriptor,
) -> None:
    from airflow.sdk.exceptions import AirflowException

    error = why_failed(task, AirflowException("code 137"))
    assert str(error) == "the Spark driver ended without a report: code 137"
    assert not fails_at_once(error)


def test_a_failure_in_the_report_counts_whatever_the_exit_code(
    task: TaskDeploymentDescriptor,
) -> None:
    leave(task, failure(ThrowableType.NON_RECOVERABLE_ERROR))
    error = why_failed(task, None)
    assert fails_at_once(error)
    assert "it broke" in str(error)


def test_a_successful_region_raises_nothing(task: TaskDeploymentDescriptor) -> None:
    leave(task, None)
    assert why_failed(task, None) is None


def test_a_log_keeps_its_beginning_and_its_end() -> None:
    from graph_compiler.airflow_backend.task.submission.log_limit import LAST_LINES, limited

    lines = [f"{number}\n" for number in range(10_000)]
    shown = list(limited(lines, beginning=10))
    assert shown[:5] == lines[:5]
    assert shown[-LAST_LINES:] == lines[-LAST_LINES:]
    assert shown[5] == f"graph_compiler: {10_000 - 5 - LAST_LINES:,} lines are left out here\n"


def test_a_line_of_any_length_is_cut() -> None:
    from graph_compiler.airflow_backend.task.submission.log_limit import LONGEST_LINE, limited

    (shown,) = limited(["x" * 10_000_000])
    assert len(shown) == LONGEST_LINE + 3


def test_a_short_log_is_whole() -> None:
    from graph_compiler.airflow_backend.task.submission.log_limit import limited

    assert list(limited(["a\n", "b\n"])) == ["a\n", "b\n"]
