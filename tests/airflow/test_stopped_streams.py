"""The task of a continuous stream that Airflow ends: its driver is asked to end behind its batch, and has time."""

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from graph_compiler import Json, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.local_task import DeskRun, desk_task
from graph_compiler.deployment.describe.region_descriptors import describe_pipeline
from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.documents.heartbeat import VERSION, StreamHeartbeat
from graph_compiler.deployment.documents.report import ExecutionReport
from graph_compiler.staging.attempts.attempt_documents import AttemptDocuments
from graph_compiler.staging.attempts.execution_order import begin
from graph_compiler.staging.store.local_store import LocalStore
from graph_compiler.staging.streams.checkpoint import Checkpoint
from graph_compiler.staging.streams.heartbeats import StreamTurn

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]
STORE = LocalStore()


def declared(folder: Path, **options: str) -> StreamExecutionEnvironment:
    config = {"execution.runtime-mode": "AUTOMATIC", "execution.continuous": "true"} | options
    env = StreamExecutionEnvironment("words", config=config)
    lines = env.from_source(Json(f"{folder}/in", schema="id INT"), "lines", unbounded=True).uid("lines")
    lines.sink_to(Parquet(f"{folder}/out"), mode="append").name("out").uid("out")
    return env


def submitted(folder: Path, **options: str) -> TaskDeploymentDescriptor:
    """Return a task whose descriptor is written."""
    (region,) = describe_pipeline(compile_pipeline(declared(folder, **options).pipeline())).regions
    run = DeskRun(day="2024-01-01", params={}, run_id="one", staging_root=str(folder / "staging"))
    task = desk_task(region, run, execution_id="e1")
    begin(STORE, task)
    return task


def begun(task: TaskDeploymentDescriptor, **more: Any) -> StreamTurn:
    """Let a driver of a task have the checkpoint."""
    assert task.region.stream is not None
    id = task.attempt.execution_id
    opened = Checkpoint.open(STORE, task.staging_root, task.identity, id, task.region.stream)
    turn = StreamTurn(store=STORE, layout=opened.layout, stream_id=opened.stream_id, number=opened.turn)
    heartbeat = StreamHeartbeat(
        version=VERSION,
        execution_id=id,
        run_id="one",
        began=0.0,
        written=0.0,
        interval_seconds=10.0,
        batch=None,
        batch_began=None,
        batches=(),
        published=None,
    )
    turn.put(replace(heartbeat, **more))
    return turn


def path_of(task: TaskDeploymentDescriptor) -> str:
    return AttemptDocuments.of(task).descriptor


def test_a_driver_is_asked_to_end_behind_its_batch(tmp_path: Path) -> None:
    from graph_compiler.airflow_backend.task.driver_end import ask_streams

    task = submitted(tmp_path)
    assert not ask_streams([path_of(task)]), "it has not begun"
    turn = begun(task)
    assert turn.stop_request() is None
    assert ask_streams([path_of(task)])
    found = turn.stop_request()
    assert found is not None
    assert found.by == "Airflow"


def test_the_driver_of_a_later_run_is_not_asked(tmp_path: Path) -> None:
    from graph_compiler.airflow_backend.task.driver_end import ask_streams

    task = submitted(tmp_path)
    begun(task)
    later = begun(task, execution_id="e2")
    assert not ask_streams([path_of(task)])
    assert later.stop_request() is None


def test_an_increment_is_ended_as_a_batch_job_is(tmp_path: Path) -> None:
    from graph_compiler.airflow_backend.task.driver_end import ask_streams

    task = submitted(tmp_path, **{"execution.continuous": "false"})
    turn = begun(task)
    assert not ask_streams([path_of(task), str(tmp_path / "gone" / "descriptor.json")])
    assert turn.stop_request() is None


def test_a_driver_elsewhere_is_waited_for_but_not_long(tmp_path: Path) -> None:
    from graph_compiler.airflow_backend.task.driver_end import wait_for_reports

    task = submitted(tmp_path)
    began = time.monotonic()
    wait_for_reports([path_of(task)], 0.6)
    assert time.monotonic() - began >= 0.6
    AttemptDocuments.of(task).put_report(ExecutionReport.of_nothing())
    wait_for_reports([path_of(task)], 600.0)


@pytest.mark.parametrize(("has_begun", "patience"), [(True, 30), (False, 0)])
def test_a_kill_asks_and_gives_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_begun: bool, patience: int
) -> None:
    from graph_compiler.airflow_backend.provider import submit_operator
    from graph_compiler.airflow_backend.task.following.application_operator import ApplicationOperator

    task = submitted(tmp_path)
    given: list[Mapping[str, Any]] = []
    if has_begun:
        begun(task)

    def end_driver(_: object, **how: Any) -> bool:
        given.append(how)
        return True

    monkeypatch.setattr(submit_operator, "end_driver", end_driver)
    operator = ApplicationOperator(task_id="words", application="main.py", application_args=[path_of(task)])
    operator.patience = 30
    operator._hook = SimpleNamespace(
        _submit_sp=None, _connection={"master": "local", "deploy_mode": None, "namespace": None, "spark_binary": "s"}
    )
    monkeypatch.setattr(ApplicationOperator, "is_elsewhere", False)
    operator.on_kill()
    assert given == [{"is_elsewhere": False, "patience": patience}]


def test_a_continuous_stream_always_starts_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from graph_compiler.airflow_backend.task import arrivals

    monkeypatch.setattr(arrivals, "nothing_arrived", lambda *_, **__: True)
    for continuous in ("true", "false"):
        task = submitted(tmp_path, **{"execution.continuous": continuous})
        found = arrivals.end_without_spark(SimpleNamespace(executions=[task], store=STORE))  # type: ignore[arg-type]
        assert (found is None) is (continuous == "true")


@pytest.mark.parametrize("deferrable", ["true", "false"])
def test_the_task_of_a_continuous_stream_has_patience(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deferrable: str
) -> None:
    from graph_compiler.airflow_backend.dag.dag_builder import build_dag

    monkeypatch.setenv("AIRFLOW__GRAPH_COMPILER__STAGING_ROOT", str(tmp_path / "staging"))
    dag = build_dag(declared(tmp_path, **{"execution.deferrable": deferrable}), schedule="@hourly")
    (task,) = dag.tasks
    assert getattr(task, "patience", None) == 30
    assert dag.max_active_runs == 1
