"""The metrics of attempts: each is reported once, and before a process is killed."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from graph_compiler import Parquet, StreamExecutionEnvironment, Values
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.descriptor import VERSION as DESCRIPTOR_VERSION
from graph_compiler.deployment.documents.descriptor import (
    ExecutionAttempt,
    TaskDeploymentDescriptor,
)
from graph_compiler.deployment.documents.manifest import ContractCount
from graph_compiler.deployment.documents.report import (
    ExecutionReport,
    Output,
    RecomputedResult,
)
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import IntermediateDataSetId, RegionId
from graph_compiler.staging.executions.execution_order import begin
from graph_compiler.staging.executions.kept_executions import KeptExecution, leave_kept
from graph_compiler.staging.executions.region_execution import RegionExecution
from graph_compiler.staging.store.local_store import LocalStore
from tests.airflow.conftest import ROOT
from tests.harness.metric_receivers import Received, Receiver, otlp_receiver, statsd_listener
from tests.harness.reports import bare_report

if TYPE_CHECKING:
    from graph_compiler.airflow_backend.metrics.attempt_metrics import TimedAttempt

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]

FAILED, FINISHED = ExecutionState.FAILED, ExecutionState.FINISHED


def attempt(
    number: int,
    state: ExecutionState,
    *,
    started: float,
    running: float | None,
    ended: float,
    report: ExecutionReport | None = None,
    is_reported: bool = False,
) -> "TimedAttempt":
    from graph_compiler.airflow_backend.metrics.attempt_metrics import TimedAttempt

    execution = RegionExecution(
        execution_id=f"e{number}",
        attempt_number=number,
        state=state,
        host="here",
        started=started,
        ended=ended,
        reason=None,
        report=report,
        progress=None,
    )
    return TimedAttempt(execution=execution, running=running, ended=ended, is_reported=is_reported)


def shown(*regions: "list[TimedAttempt]") -> list[str]:
    from graph_compiler.airflow_backend.metrics.attempt_metrics import attempt_metrics

    return [
        f"{metric.name.removeprefix('graph_compiler.')} {metric.value} {metric.own or ''}".rstrip()
        for metric in attempt_metrics(regions)
    ]


def first(*, is_reported: bool = False) -> "TimedAttempt":
    return attempt(0, FAILED, started=100, running=104, ended=110, is_reported=is_reported)


def second(state: ExecutionState = FINISHED) -> "TimedAttempt":
    return attempt(1, state, started=130, running=135.5, ended=140)


OF_SECOND = ["execution.finish 1 FINISHED", "execution.duration 10000 FINISHED", "up_time 4500"]
OF_RESTART = ["restarts 1", "restarting_time 20000", "down_time 25500"]
OF_FIRST = ["execution.finish 1 FAILED", "execution.duration 10000 FAILED", "up_time 6000"]


def test_a_first_attempt_restarts_nothing() -> None:
    assert shown([first()]) == OF_FIRST


def test_an_attempt_after_one_that_failed_is_a_restart() -> None:
    assert shown([first(is_reported=True), second()]) == OF_SECOND + OF_RESTART


def test_what_died_is_reported_by_the_next() -> None:
    assert shown([first(), second()]) == OF_FIRST + OF_SECOND + OF_RESTART


def test_an_attempt_after_one_that_finished_is_no_restart() -> None:
    """A person has cleared the task, perhaps days later."""
    before = attempt(0, FINISHED, started=1, running=2, ended=3, is_reported=True)
    assert shown([before, second()]) == OF_SECOND


def test_one_try_of_several_regions_is_one_restart() -> None:
    regions = [[first(is_reported=True), second()], [first(is_reported=True), second()]]
    assert shown(*regions) == OF_SECOND + OF_RESTART + OF_SECOND


def test_an_attempt_without_spark_was_never_up() -> None:
    lost = attempt(1, FAILED, started=130, running=None, ended=131)
    assert shown([first(is_reported=True), lost]) == [
        "execution.finish 1 FAILED",
        "execution.duration 1000 FAILED",
        "restarts 1",
        "restarting_time 20000",
        "down_time 21000",
    ]


def test_no_value_is_negative_where_clocks_differ() -> None:
    early = attempt(1, FINISHED, started=90, running=91, ended=89)
    assert shown([first(is_reported=True), early])[1:] == [
        "execution.duration 0 FINISHED",
        "up_time 0",
        "restarts 1",
        "restarting_time 0",
        "down_time 0",
    ]


def test_a_region_that_a_try_did_not_reach_is_left_out() -> None:
    """And the next try, which reaches it, does not restart it."""
    canceled = attempt(
        0, ExecutionState.CANCELED, started=100, running=None, ended=110, is_reported=False
    )
    assert shown([canceled]) == []
    assert shown([canceled, second()]) == OF_SECOND


def report() -> ExecutionReport:
    return replace(
        bare_report(),
        outputs=(
            Output(kind="sink", name="to disk", location="/out", rows=3, bytes=30),
            Output(kind="staged", name="kept", location="/staging", rows=5, bytes=50),
        ),
        contracts=(
            ContractCount(contract="positive", on_violation="warn", rows=8, violations=2),
            ContractCount(contract="known", on_violation="warn", rows=8, violations=0),
        ),
        recomputed=(
            RecomputedResult(
                result_id=IntermediateDataSetId("lost"),
                producer=RegionId("r"),
                epoch=2,
                operators=("a",),
                rows=7,
                seconds=1.0,
                reason="it was removed",
            ),
        ),
    )


def test_rows_count_when_an_attempt_has_finished() -> None:
    ended = attempt(0, FINISHED, started=0, running=1, ended=2, report=report())
    assert shown([ended])[3:] == [
        "sink.rows 3 to disk",
        "sink.bytes 30 to disk",
        "staged.rows 5 kept",
        "staged.bytes 50 kept",
        "recomputations 1 lost",
        "contract.violations 2 positive",
    ]
    failed = attempt(0, FAILED, started=0, running=1, ended=2, report=report())
    assert shown([failed])[3:] == ["recomputations 1 lost", "contract.violations 2 positive"]


@pytest.fixture
def statsd(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    with statsd_listener() as receiver:
        for name, value in settings_of_statsd(receiver).items():
            monkeypatch.setenv(name, value)
        start_stats()
        yield receiver
    monkeypatch.undo()
    start_stats()


def settings_of_statsd(receiver: Receiver) -> dict[str, str]:
    return {
        "AIRFLOW__METRICS__STATSD_ON": "True",
        "AIRFLOW__METRICS__STATSD_HOST": "127.0.0.1",
        "AIRFLOW__METRICS__STATSD_PORT": str(receiver.port),
        "AIRFLOW__METRICS__STATSD_INFLUXDB_ENABLED": "True",
    }


def start_stats() -> None:
    """Do what Airflow does at the beginning of a task's process."""
    from airflow.sdk.observability import stats
    from airflow.sdk.observability.metrics.stats_utils import get_stats_factory

    stats.initialize(factory=get_stats_factory(), export_legacy_names=True)


def task(root: Path, execution_id: str) -> TaskDeploymentDescriptor:
    env = StreamExecutionEnvironment("p")
    env.from_source(Values([(1,)], "x INT"), "in").sink_to(Parquet("/out")).name("out|a,b=c\n")
    (region,) = describe_regions(compile_pipeline(env.pipeline()))
    return TaskDeploymentDescriptor(
        version=DESCRIPTOR_VERSION,
        identity=RunIdentity(
            dag_id="nightly", group_path="emea", pipeline="p", run_id="r", map_index=2
        ),
        region=region,
        attempt=ExecutionAttempt(execution_id=execution_id, attempt_number=0),
        staging_root=str(root),
        parameters=(),
    )


def start(root: Path, execution_id: str) -> str:
    """Begin an execution, and return the key of its descriptor."""
    from graph_compiler.airflow_backend.task.task_try import descriptor_of

    execution = task(root, execution_id)
    assert begin(LocalStore(), execution)
    return descriptor_of(execution)


def end(key: str, state: ExecutionState, done: ExecutionReport | None = None) -> None:
    from graph_compiler.airflow_backend.task.execution_files import leave_outcomes

    if done is not None:
        Path(key).with_name("report.json").write_text(to_json(done))
    leave_outcomes([key], state, None if state is FINISHED else "it failed")


def finishes(receiver: Receiver) -> list[str]:
    """Return the states of all executions that were reported."""
    return [one.tags["state"] for one in wait_for(receiver) if one.name.endswith(".finish")]


def wait_for(receiver: Receiver) -> list[Received]:
    time.sleep(0.3)  # UDP: what was sent is in the queue of this host
    return receiver.own()


def test_each_execution_is_reported_once(statsd: Receiver, tmp_path: Path) -> None:
    key = start(tmp_path, "one")
    end(key, FAILED)
    end(key, ExecutionState.CANCELED)  # it was killed a moment later
    again = start(tmp_path, "two")
    end(again, FINISHED, bare_report())
    assert finishes(statsd) == ["FAILED", "FINISHED"]
    assert statsd.total("graph_compiler.restarts") == 1
    tags = {"dag_id": "nightly", "pipeline": "p"}
    assert all(tags.items() <= one.tags.items() for one in statsd.own())
    assert {one.tags["task_id"] for one in statsd.own()} == {"emea.out_a_b_c"}


def test_those_that_died_are_reported_by_the_next_and_once(
    statsd: Receiver, tmp_path: Path
) -> None:
    for name in ("dead", "dead too"):
        start(tmp_path, name)
    kept = start(tmp_path, "kept")
    first_one = KeptExecution(execution_id="dead", attempt_number=0, try_number=1)
    leave_kept(LocalStore(), str(Path(kept).parent), first_one)
    end(kept, FINISHED)
    last = start(tmp_path, "last")
    end(last, FINISHED, bare_report())
    assert finishes(statsd) == ["FAILED", "FAILED", "FINISHED"]
    assert statsd.total("graph_compiler.restarts") == 2


def test_names_of_operators_do_not_add_lines(statsd: Receiver, tmp_path: Path) -> None:
    done = replace(report(), outputs=(replace(report().outputs[0], name="a|c\nairflow.x:1|c,=#"),))
    end(start(tmp_path, "one"), FINISHED, done)
    assert {one.tags["output"] for one in wait_for(statsd) if "sink" in one.name} == {
        "a_c_airflow.x_1_c___"
    }
    assert {one.name for one in statsd.received} == {one.name for one in statsd.own()}


def test_without_metrics_nothing_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from graph_compiler.airflow_backend.metrics import emission

    monkeypatch.setattr(emission, "told", lambda *_: pytest.fail("a document was read"))
    end(start(tmp_path, "one"), FINISHED)


def test_what_goes_wrong_does_not_reach_the_task(
    statsd: Receiver, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    key = start(tmp_path, "one")
    Path(key).write_text("no document")
    end(key, FINISHED)
    assert "metrics of this try are not sent" in caplog.text
    assert statsd.own() == []


def test_a_collector_that_does_not_answer_does_not_hold_a_task(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from graph_compiler.airflow_backend.metrics import emission

    asked, answers = threading.Event(), threading.Event()

    def force_flush() -> None:
        asked.set()
        answers.wait()

    monkeypatch.setenv("AIRFLOW__METRICS__OTEL_ON", "True")
    provider = SimpleNamespace(force_flush=force_flush)
    monkeypatch.setattr(emission, "get_meter_provider", lambda: provider)
    monkeypatch.setattr(emission, "_MOST_SECONDS", 0.01)
    emission.flush()
    assert asked.wait(10)
    assert not answers.is_set()
    answers.set()


KILLED = """
    import os, signal, sys
    from airflow.sdk.observability import stats
    from airflow.sdk.observability.metrics.stats_utils import get_stats_factory
    from graph_compiler.airflow_backend.task.try_outcome import stopping

    stats.initialize(factory=get_stats_factory(), export_legacy_names=True)
    with stopping(sys.argv[1:]):
        pass
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_metrics_arrive_before_a_stopped_process_is_killed(tmp_path: Path) -> None:
    key = start(tmp_path, "one")
    Path(key).with_name("driver.json").write_text("{}")
    with otlp_receiver() as receiver:
        settings = {
            "AIRFLOW__METRICS__OTEL_ON": "True",
            "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": f"http://127.0.0.1:{receiver.port}/v1/metrics",
            "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "http/protobuf",
            "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE": "delta",
        }
        process = subprocess.run(
            [sys.executable, "-c", dedent(KILLED), key],
            cwd=ROOT,
            env=os.environ | settings,
            timeout=120,
            check=False,
        )
    assert process.returncode == -signal.SIGKILL
    assert receiver.total("graph_compiler.execution.finish", state="CANCELED", pipeline="p") == 1
