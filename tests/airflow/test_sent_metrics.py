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

import pytest

from graph_compiler import Parquet, StreamExecutionEnvironment, Values
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.descriptor import VERSION as DESCRIPTOR_VERSION
from graph_compiler.deployment.documents.descriptor import ExecutionAttempt, TaskDeploymentDescriptor
from graph_compiler.deployment.documents.report import ExecutionReport, Output
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.stream import PublishedBatch, StreamProgress
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.staging.attempts.attempt_documents import AttemptDocuments, KeptExecution
from graph_compiler.staging.attempts.execution_order import begin
from graph_compiler.staging.store.local_store import LocalStore
from tests.airflow.conftest import ROOT
from tests.harness.installed_airflow import start_stats
from tests.harness.metric_receivers import Received, Receiver, otlp_receiver, statsd_listener
from tests.harness.reports import bare_report

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]

OUTPUT = Output(kind="sink", name="to disk", location="/out", rows=3, bytes=30)
FAILED, FINISHED = ExecutionState.FAILED, ExecutionState.FINISHED


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


def task(root: Path, execution_id: str) -> TaskDeploymentDescriptor:
    env = StreamExecutionEnvironment("p")
    env.from_source(Values([(1,)], "x INT"), "in").sink_to(Parquet("/out")).name("out|a,b=c#")
    (region,) = describe_regions(compile_pipeline(env.pipeline()))
    return TaskDeploymentDescriptor(
        version=DESCRIPTOR_VERSION,
        identity=RunIdentity(dag_id="nightly", group_path="emea", pipeline="p", run_id="r", map_index=2),
        region=region,
        attempt=ExecutionAttempt(execution_id=execution_id, attempt_number=0),
        staging_root=str(root),
        parameters=(),
    )


def start(root: Path, execution_id: str) -> str:
    """Begin an execution, and return the key of its descriptor."""
    execution = task(root, execution_id)
    assert begin(LocalStore(), execution)
    return AttemptDocuments.of(execution).descriptor


def end(key: str, state: ExecutionState, done: ExecutionReport | None = None) -> None:
    from graph_compiler.airflow_backend.task.execution_files import write_outcomes

    if done is not None:
        Path(key).with_name("report.json").write_text(to_json(done))
    write_outcomes([key], state, None if state is FINISHED else "it failed")


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


def test_where_a_stream_is_replaces_what_was_sent_before(statsd: Receiver, tmp_path: Path) -> None:
    progress = StreamProgress(state_rows=5, state_bytes=900, watermark=None, behind=0, rows_in=7)
    batch = PublishedBatch(number=4, rows=4, seconds=0.5, progress=progress)
    end(start(tmp_path, "one"), FINISHED, replace(bare_report(), batches=(batch,)))
    lines = [str(one) for one in wait_for(statsd) if one.name.startswith("graph_compiler.stream.")]
    assert [line.split()[:2] for line in lines] == [
        ["graph_compiler.stream.batches", "1"],
        ["graph_compiler.stream.rows_in", "7"],
        ["graph_compiler.stream.state_rows", "5"],
        ["graph_compiler.stream.state_bytes", "900"],
        ["graph_compiler.stream.behind", "0"],
    ]
    assert {one.kind for one in statsd.own() if one.name.endswith(("state_rows", "behind"))} == {"g"}


def test_those_that_died_are_reported_by_the_next_and_once(statsd: Receiver, tmp_path: Path) -> None:
    for name in ("dead", "dead too"):
        start(tmp_path, name)
    kept = start(tmp_path, "kept")
    first_one = KeptExecution(execution_id="dead", attempt_number=0, try_number=1)
    AttemptDocuments.beside(kept).put_kept(first_one)
    end(kept, FINISHED)
    last = start(tmp_path, "last")
    end(last, FINISHED, bare_report())
    assert finishes(statsd) == ["FAILED", "FAILED", "FINISHED"]
    assert statsd.total("graph_compiler.restarts") == 2


@pytest.mark.parametrize(("name", "sent"), [("a|c\nairflow.x:1|c,=#", "a_c_nairflow.x_1_c___"), ("abc\n", "abc_n")])
def test_names_of_operators_do_not_add_lines(name: str, sent: str, statsd: Receiver, tmp_path: Path) -> None:
    done = replace(bare_report(), outputs=(replace(OUTPUT, name=name),))
    end(start(tmp_path, "one"), FINISHED, done)
    assert {one.tags["output"] for one in wait_for(statsd) if "sink" in one.name} == {sent}
    assert {one.name for one in statsd.received} == {one.name for one in statsd.own()}


def test_without_metrics_nothing_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from graph_compiler.airflow_backend.notify import sending

    monkeypatch.setattr(sending, "read_ended", lambda *_: pytest.fail("a document was read"))
    end(start(tmp_path, "one"), FINISHED)


def test_what_goes_wrong_does_not_reach_the_task(
    statsd: Receiver, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    key = start(tmp_path, "one")
    Path(key).write_text("no document")
    end(key, FINISHED)
    assert "the end of this try is not reported" in caplog.text
    assert statsd.own() == []


def test_a_sender_that_fails_stops_no_other(
    statsd: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from graph_compiler.airflow_backend.notify import sending

    class Broken:
        def is_wanted(self) -> bool:
            return True

        def send(self, _contents: object) -> None:
            raise OSError("no route")

    monkeypatch.setattr(sending, "_LINEAGE", Broken())
    end(start(tmp_path, "one"), FINISHED)
    assert finishes(statsd) == ["FINISHED"]
    monkeypatch.setattr(sending, "_LINEAGE", sending._METRICS)
    monkeypatch.setattr(sending, "_METRICS", Broken())
    end(start(tmp_path, "two"), FINISHED)
    assert finishes(statsd) == ["FINISHED", "FINISHED"]
    assert caplog.text.count("the end of this try is not reported") == 2
    assert caplog.text.count("no route") >= 2  # Airflow's log has it once, a traceback also the line that raised it


def test_a_collector_that_does_not_answer_does_not_hold_a_task(monkeypatch: pytest.MonkeyPatch) -> None:
    from graph_compiler.airflow_backend.notify import metrics, sending

    asked, answers = threading.Event(), threading.Event()

    def force_flush() -> None:
        asked.set()
        answers.wait()

    monkeypatch.setenv("AIRFLOW__METRICS__OTEL_ON", "True")
    provider = SimpleNamespace(force_flush=force_flush)
    monkeypatch.setattr(metrics, "get_meter_provider", lambda: provider)
    monkeypatch.setattr(sending, "_MOST_SECONDS", 0.01)
    sending.flush()
    assert asked.wait(10)
    assert not answers.is_set()
    answers.set()


KILLED = """
    import os, signal, sys
    from tests.harness.installed_airflow import start_stats
    from graph_compiler.airflow_backend.task.driver_end import stopping

    start_stats()
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
            [sys.executable, "-c", dedent(KILLED), key], cwd=ROOT, env=os.environ | settings, timeout=120, check=False
        )
    assert process.returncode == -signal.SIGKILL
    assert receiver.total("graph_compiler.execution.finish", state="CANCELED", pipeline="p") == 1
