"""How an Airflow task handles the end of its Spark driver: its report, its exit code, its output."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graph_compiler import Parquet, StreamExecutionEnvironment, Values
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_pipeline, describe_regions
from graph_compiler.deployment.documents.descriptor import VERSION as DESCRIPTOR_VERSION
from graph_compiler.deployment.documents.descriptor import ExecutionAttempt, TaskDeploymentDescriptor
from graph_compiler.deployment.documents.report import Failure, Outcome, ThrowableType
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.wire import from_json, to_json
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.staging.attempts.attempt_documents import AttemptDocuments, KeptExecution
from graph_compiler.staging.store.local_store import LocalStore
from tests.harness.reports import bare_report

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


@pytest.fixture
def three(tmp_path: Path) -> list[TaskDeploymentDescriptor]:
    """Return a try of one task: by_day and by_user read what clean stages."""
    env = StreamExecutionEnvironment("p")
    clean = env.from_source(Values([(1,)], "x INT"), "in").filter("x > 0").name("clean")
    shown = clean.stage("a retry must not repeat it", same_task=True)
    for name in ("by_day", "by_user"):
        shown.filter("x > 1").sink_to(Parquet(f"/out/{name}")).name(name)
    (regions,) = describe_pipeline(compile_pipeline(env.pipeline())).tasks().values()
    return [
        TaskDeploymentDescriptor(
            version=DESCRIPTOR_VERSION,
            identity=RunIdentity.own("p", "r"),
            region=region,
            attempt=ExecutionAttempt(execution_id="e", attempt_number=0),
            staging_root=str(tmp_path),
            parameters=(),
        )
        for region in regions
    ]


def why_failed(*tasks: TaskDeploymentDescriptor, submitted: Exception | None) -> Exception | None:
    """Return what the task raises; imported here, since Airflow must not be imported before its home is set."""
    from airflow.sdk.exceptions import AirflowException

    from graph_compiler.airflow_backend.task.driver_end import read_reports
    from graph_compiler.airflow_backend.task.task_try import TaskTry

    try:
        read_reports(TaskTry(tasks), submitted, is_elsewhere=False)  # type: ignore[arg-type]  # what the hook raises
    except AirflowException as error:
        return error
    return None


def fails_at_once(error: Exception | None) -> bool:
    from airflow.sdk.exceptions import AirflowFailException

    return isinstance(error, AirflowFailException)


def leave(task: TaskDeploymentDescriptor, failure: Failure | None) -> None:
    key = task.layout.execution(task.region.region_id, task.attempt.execution_id) + "/report.json"
    LocalStore().put_if_absent(key, to_json(bare_report(failure)).encode())


def failure(kind: ThrowableType) -> Failure:
    return Failure(throwable_type=kind, operator=None, declared_at=None, message="it broke")


def deploy(*tasks: TaskDeploymentDescriptor) -> None:
    for task in tasks:
        key = task.layout.descriptor(task.region.region_id, task.attempt.execution_id)
        LocalStore().put(key, task.to_json().encode())


def test_a_staging_root_that_was_gone_at_the_end_is_tried_again(task: TaskDeploymentDescriptor) -> None:
    error = why_failed(task, submitted=None)
    assert "the staging root has lost the documents of this try" in str(error)
    assert not fails_at_once(error)


def test_exit_code_0_without_a_report_fails_without_retry(task: TaskDeploymentDescriptor) -> None:
    deploy(task)
    error = why_failed(task, submitted=None)
    assert fails_at_once(error)
    assert "pipeline 'p', task 'out': Spark's driver ended with exit code 0" in str(error)
    assert "os._exit" in str(error)


def test_other_exit_codes_without_a_report_follow_the_restart_strategy(task: TaskDeploymentDescriptor) -> None:
    from airflow.sdk.exceptions import AirflowException

    error = why_failed(task, submitted=AirflowException("code 137"))
    assert str(error) == "the Spark driver ended without a report: code 137"
    assert not fails_at_once(error)


def test_a_failure_in_the_report_counts_whatever_the_exit_code(task: TaskDeploymentDescriptor) -> None:
    leave(task, failure(ThrowableType.NON_RECOVERABLE_ERROR))
    error = why_failed(task, submitted=None)
    assert fails_at_once(error)
    assert "it broke" in str(error)


def test_each_document_is_read_once_when_a_driver_has_ended(
    three: list[TaskDeploymentDescriptor], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    get = LocalStore.get

    def counting(self: LocalStore, key: str, **limits: Any) -> bytes | None:
        read.append(key)
        return get(self, key, **limits)

    for task in three:
        leave(task, None)
    monkeypatch.setattr(LocalStore, "get", counting)
    assert why_failed(*three, submitted=None) is None
    assert sorted(read) == sorted(set(read))
    assert len(read) == 6, "report and outcome of each region"


def test_a_report_that_cannot_be_read_is_no_success(task: TaskDeploymentDescriptor) -> None:
    """Whatever its outcome: the rows it has written are not known."""
    documents = AttemptDocuments.of(task)
    LocalStore().put(f"{documents.folder}/report.json", b"{")
    documents.put_outcome(Outcome(state=ExecutionState.FINISHED, ended=1.0, reason=None))
    assert "the Spark driver's report cannot be read" in str(why_failed(task, submitted=None))


def test_a_successful_region_raises_nothing(task: TaskDeploymentDescriptor) -> None:
    leave(task, None)
    assert why_failed(task, submitted=None) is None


def leave_out(task: TaskDeploymentDescriptor, state: ExecutionState, reason: str | None) -> None:
    outcome = Outcome(state=state, ended=1.0, reason=reason)
    key = task.layout.execution(task.region.region_id, task.attempt.execution_id) + "/outcome.json"
    LocalStore().put_if_absent(key, to_json(outcome).encode())


def keep(task: TaskDeploymentDescriptor) -> None:
    """Write that the execution has kept the work of an earlier one, which has succeeded."""
    kept = KeptExecution(execution_id="earlier", attempt_number=0, try_number=2)
    AttemptDocuments.of(task).put_kept(kept)
    earlier = replace(task, attempt=ExecutionAttempt(execution_id="earlier", attempt_number=0))
    leave(earlier, None)


def test_the_failures_of_all_regions_are_told(three: list[TaskDeploymentDescriptor]) -> None:
    leave(three[0], None)
    leave(three[1], failure(ThrowableType.NON_RECOVERABLE_ERROR))
    leave(three[2], failure(ThrowableType.NON_RECOVERABLE_ERROR))
    deploy(*three)
    error = why_failed(*three, submitted=None)
    assert fails_at_once(error)
    assert str(error).splitlines() == [
        "pipeline 'p', region 'by_day': it broke",
        "pipeline 'p', region 'by_user': it broke",
    ]


def test_one_failure_that_a_retry_may_help_is_enough(three: list[TaskDeploymentDescriptor]) -> None:
    leave(three[0], None)
    leave(three[1], failure(ThrowableType.NON_RECOVERABLE_ERROR))
    leave(three[2], failure(ThrowableType.RECOVERABLE_ERROR))
    error = why_failed(*three, submitted=None)
    assert error is not None
    assert not fails_at_once(error)


def test_regions_that_were_left_out_after_a_failure_have_no_report(three: list[TaskDeploymentDescriptor]) -> None:
    leave(three[0], failure(ThrowableType.RECOVERABLE_ERROR))
    for task in three[1:]:
        leave_out(task, ExecutionState.CANCELED, "'clean' failed")
    error = why_failed(*three, submitted=None)
    assert str(error) == "pipeline 'p', region 'clean': it broke"


def test_a_region_without_a_report_fails_the_task(three: list[TaskDeploymentDescriptor]) -> None:
    for task in three[:2]:
        leave(task, None)
    deploy(*three)
    error = why_failed(*three, submitted=None)
    assert fails_at_once(error)
    assert "ended with exit code 0 before its work was done" in str(error)


def test_kept_executions_need_no_report(three: list[TaskDeploymentDescriptor]) -> None:
    for task in three[:2]:
        keep(task)
    leave(three[2], None)
    assert why_failed(*three, submitted=None) is None


def outcomes(tasks: list[TaskDeploymentDescriptor]) -> list[tuple[str, str | None] | None]:
    found: list[tuple[str, str | None] | None] = []
    for task in tasks:
        key = task.layout.execution(task.region.region_id, "e") + "/outcome.json"
        content = LocalStore().get(key)
        outcome = None if content is None else from_json(Outcome, content.decode())
        found.append(None if outcome is None else (outcome.state.value, outcome.reason))
    return found


def test_each_execution_has_its_own_outcome(three: list[TaskDeploymentDescriptor]) -> None:
    """The driver died in by_day: clean has finished, and by_user was not reached."""
    from graph_compiler.airflow_backend.task.execution_files import write_outcomes
    from graph_compiler.airflow_backend.task.task_try import TaskTry

    leave(three[0], None)
    for task in three[:2]:
        LocalStore().put(task.layout.execution(task.region.region_id, "e") + "/driver.json", b"{}")
    write_outcomes(TaskTry(three).descriptors, ExecutionState.FAILED, "code 137")
    assert outcomes(three) == [
        ("FINISHED", "code 137"),  # of the try, which has not succeeded
        ("FAILED", "code 137"),
        ("CANCELED", "the try ended before it was its turn"),
    ]


def test_the_outcomes_of_a_try_that_succeeded_are_those_of_all_its_regions(
    three: list[TaskDeploymentDescriptor],
) -> None:
    from graph_compiler.airflow_backend.task.execution_files import write_outcomes
    from graph_compiler.airflow_backend.task.task_try import TaskTry

    keep(three[0])
    for task in three[1:]:
        leave(task, None)
    write_outcomes(TaskTry(three).descriptors, ExecutionState.FINISHED, None)
    assert outcomes(three) == [("FINISHED", None)] * 3


def test_a_try_that_was_stopped_has_not_succeeded(three: list[TaskDeploymentDescriptor]) -> None:
    """Its outcomes are written at once, while its driver may be on another host."""
    leave(three[0], None)
    for task in three[1:]:
        leave_out(task, ExecutionState.CANCELED, "it was stopped while it was running")
    assert why_failed(*three, submitted=None) is not None


def test_a_log_keeps_its_beginning_and_its_end() -> None:
    from graph_compiler.airflow_backend.provider.submit_process import LAST_LINES, limited

    lines = [f"{number}\n" for number in range(10_000)]
    shown = list(limited(lines, beginning=10))
    assert shown[:5] == lines[:5]
    assert shown[-LAST_LINES:] == lines[-LAST_LINES:]
    assert shown[5] == f"graph_compiler: {10_000 - 5 - LAST_LINES:,} lines are left out here\n"


def test_a_line_of_any_length_is_cut() -> None:
    from graph_compiler.airflow_backend.provider.submit_process import LONGEST_LINE, limited

    (shown,) = limited(["x" * 10_000_000])
    assert len(shown) == LONGEST_LINE + 3


def test_a_short_log_is_whole() -> None:
    from graph_compiler.airflow_backend.provider.submit_process import limited

    assert list(limited(["a\n", "b\n"])) == ["a\n", "b\n"]


def test_a_stopped_driver_ends_also_if_that_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from graph_compiler.airflow_backend.task import driver_end

    def away(*_: object) -> None:
        raise OSError("the disk is away")

    monkeypatch.setattr(driver_end, "write_outcomes", away)
    ended = []
    with driver_end.stopping(["/staging/descriptor.json"]):
        ended.append("driver")
    assert ended == ["driver"]
    assert "it is not recorded that this try was stopped" in caplog.text
