"""The events of attempts: each is sent once, as a run below that of its try, and never holds or fails a task."""

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.descriptor import VERSION as DESCRIPTOR_VERSION
from graph_compiler.deployment.documents.descriptor import ExecutionAttempt, RegionDescriptor, TaskDeploymentDescriptor
from graph_compiler.deployment.documents.report import ExecutionReport, OperatorSchema, Output
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.staging.attempts.attempt_documents import AttemptDocuments
from graph_compiler.staging.attempts.execution_order import begin
from graph_compiler.staging.store.local_store import LocalStore
from tests.harness.reports import bare_report

pytestmark = [pytest.mark.openlineage, pytest.mark.filterwarnings("default")]

COLUMNS = json.dumps({"type": "struct", "fields": [{"name": "x", "type": "integer"}]})
DATE = datetime(2024, 1, 1, tzinfo=UTC)


def region() -> RegionDescriptor:
    env = StreamExecutionEnvironment("p")
    rows = env.from_source(Csv("/in", schema="x INT"), "in")
    rows.sink_to(Parquet("/out/{{ ds }}")).name("out")
    (found,) = describe_regions(compile_pipeline(env.pipeline()))
    return found


REGION = region()


class Instance(SimpleNamespace):
    """What the provider reads of a task instance."""

    def get_template_context(self) -> dict[str, Any]:
        return {"ti": self, "dag_run": self.dag_run}

    def model_copy(self, update: dict[str, Any]) -> "Instance":
        return Instance(**{**vars(self), **update})


@pytest.fixture
def instance(monkeypatch: pytest.MonkeyPatch) -> Instance:
    """Return the second try of the task that this process runs."""
    from graph_compiler.airflow_backend.notify import lineage

    run = SimpleNamespace(logical_date=DATE, run_after=DATE, clear_number=0, conf={})
    task = SimpleNamespace(task_id="out", dag_id="p", params={}, task_type="DeploymentTask")
    found = Instance(dag_id="p", task_id="out", map_index=-1, try_number=2, run_id="r", dag_run=run, task=task)
    operator = SimpleNamespace(regions=(REGION,), parameters={}, dag=None, **vars(task))
    monkeypatch.setattr(lineage, "get_current_context", lambda: {"ti": found, "task": operator})
    return found


@pytest.fixture
def events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the file to which the provider writes."""
    from airflow.providers.openlineage import conf
    from airflow.providers.openlineage.plugins.listener import get_openlineage_listener

    file = tmp_path / "events"
    transport = {"type": "file", "log_file_path": str(file), "append": True}
    monkeypatch.setenv("AIRFLOW__OPENLINEAGE__TRANSPORT", json.dumps(transport))
    monkeypatch.setenv("AIRFLOW__OPENLINEAGE__NAMESPACE", "prod")
    forget(conf)
    get_openlineage_listener.cache_clear()
    yield file
    monkeypatch.undo()
    forget(conf)
    get_openlineage_listener.cache_clear()


def forget(conf: Any) -> None:
    """Let the provider read its settings again."""
    for each in vars(conf).values():
        if hasattr(each, "cache_clear"):
            each.cache_clear()


def start(root: Path, execution_id: str, try_number: int) -> str:
    execution = TaskDeploymentDescriptor(
        version=DESCRIPTOR_VERSION,
        identity=RunIdentity.own("p", "r"),
        region=REGION,
        attempt=ExecutionAttempt(execution_id=execution_id, attempt_number=try_number - 1),
        staging_root=str(root),
        parameters=(),
        try_number=try_number,
    )
    assert begin(LocalStore(), execution)
    return AttemptDocuments.of(execution).descriptor


def done() -> ExecutionReport:
    ids = {each.name: each.operator_id for each in REGION.operators}
    return replace(
        bare_report(),
        outputs=(Output(kind="sink", name="out", location="/out/1", rows=3, bytes=30),),
        schemas=(
            OperatorSchema(operator_id=ids["in"], schema=COLUMNS),
            OperatorSchema(operator_id=ids["out"], schema=COLUMNS),
        ),
    )


def end(key: str, state: ExecutionState, report: ExecutionReport | None = None) -> None:
    from graph_compiler.airflow_backend.notify.sending import flush
    from graph_compiler.airflow_backend.task.execution_files import write_outcomes

    if report is not None:
        Path(key).with_name("report.json").write_text(to_json(report))
    write_outcomes([key], state, None if state is ExecutionState.FINISHED else "it broke")
    flush()


def read(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def test_an_attempt_is_a_run_below_its_try(tmp_path: Path, events: Path, instance: Instance) -> None:
    from airflow.providers.openlineage.plugins.macros import lineage_root_run_id, lineage_run_id

    key = start(tmp_path / "staging", "e2", 2)
    end(key, ExecutionState.FINISHED, done())
    end(key, ExecutionState.CANCELED)  # it was killed a moment later
    first, last = read(events)
    assert (first["eventType"], last["eventType"]) == ("START", "COMPLETE")
    assert first["eventTime"] <= last["eventTime"]
    assert first["run"]["runId"] == last["run"]["runId"] != lineage_run_id(instance)
    assert (last["job"]["namespace"], last["job"]["name"]) == ("prod", "p.out.out")
    parent = last["run"]["facets"]["parent"]
    assert parent["run"]["runId"] == lineage_run_id(instance)
    assert (parent["job"]["namespace"], parent["job"]["name"]) == ("prod", "p.out")
    assert parent["root"]["run"]["runId"] == lineage_root_run_id(instance)
    assert parent["root"]["job"]["name"] == "p"
    (source,), (sink,) = last["inputs"], last["outputs"]
    assert (source["namespace"], source["name"]) == ("file", "/in")
    assert (sink["namespace"], sink["name"]) == ("file", "/out"), "the same in every run"
    for each in (source, sink):
        fields = each["facets"]["schema"]["fields"]
        assert [(field["name"], field["type"]) for field in fields] == [("x", "integer")]
    assert sink["outputFacets"]["outputStatistics"]["rowCount"] == 3
    assert sink["outputFacets"]["outputStatistics"]["size"] == 30


def test_one_that_died_is_sent_by_the_next_below_its_own_try(tmp_path: Path, events: Path, instance: Instance) -> None:
    from airflow.providers.openlineage.plugins.macros import lineage_run_id

    start(tmp_path / "staging", "e1", 1)
    end(start(tmp_path / "staging", "e2", 2), ExecutionState.FINISHED, done())
    shown = [(each["eventType"], each["run"]["facets"]["parent"]["run"]["runId"]) for each in read(events)]
    first = lineage_run_id(instance.model_copy({"try_number": 1}))
    second = lineage_run_id(instance)
    assert first != second
    assert shown == [("START", first), ("FAIL", first), ("START", second), ("COMPLETE", second)]


@pytest.mark.usefixtures("instance")
def test_one_that_failed_says_why_and_has_written_nothing(tmp_path: Path, events: Path) -> None:
    end(start(tmp_path / "staging", "e2", 2), ExecutionState.FAILED)
    failed = read(events)[-1]
    assert failed["eventType"] == "FAIL"
    assert failed["run"]["facets"]["errorMessage"]["message"] == "it broke"
    assert failed["outputs"] == []
    assert [each["name"] for each in failed["inputs"]] == ["/in"]


@pytest.mark.usefixtures("instance")
def test_one_that_was_stopped_is_aborted(tmp_path: Path, events: Path) -> None:
    key = start(tmp_path / "staging", "e2", 2)
    Path(key).with_name("driver.json").write_text("{}")
    end(key, ExecutionState.CANCELED)
    assert read(events)[-1]["eventType"] == "ABORT"


@pytest.mark.usefixtures("instance")
def test_a_region_that_a_try_has_not_reached_is_no_run(tmp_path: Path, events: Path) -> None:
    end(start(tmp_path / "staging", "e2", 2), ExecutionState.CANCELED)
    assert read(events) == []


@pytest.mark.usefixtures("instance")
@pytest.mark.parametrize("control", ["emit", "extract_operator_metadata"])
def test_a_policy_of_the_provider_holds_for_regions(
    tmp_path: Path, events: Path, monkeypatch: pytest.MonkeyPatch, control: str
) -> None:
    from airflow.providers.openlineage import conf

    rule = [{"scope": {"dag_id": "p"}, "controls": {control: False}}]
    monkeypatch.setenv("AIRFLOW__OPENLINEAGE__EMISSION_POLICY", json.dumps(rule))
    forget(conf)
    end(start(tmp_path / "staging", "e2", 2), ExecutionState.FINISHED, done())
    assert read(events) == []


@pytest.mark.usefixtures("instance")
def test_where_there_is_nowhere_to_send_to_nothing_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from graph_compiler.airflow_backend.notify import sending

    monkeypatch.setattr(sending, "read_ended", lambda *_: pytest.fail("a document was read"))
    end(start(tmp_path / "staging", "e2", 2), ExecutionState.FINISHED, done())


@pytest.mark.usefixtures("instance", "events")
def test_a_receiver_that_does_not_answer_does_not_hold_a_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow.providers.openlineage import api

    from graph_compiler.airflow_backend.notify import sending

    asked, answers = threading.Event(), threading.Event()

    def emit(_event: object) -> None:
        asked.set()
        answers.wait()

    monkeypatch.setattr(api, "emit", emit)
    monkeypatch.setattr(sending, "_MOST_SECONDS", 0.1)
    end(start(tmp_path / "staging", "e2", 2), ExecutionState.FINISHED, done())
    assert asked.wait(10)
    assert not answers.is_set()
    answers.set()


@pytest.mark.usefixtures("instance")
def test_what_goes_wrong_does_not_reach_the_task(
    tmp_path: Path, events: Path, caplog: pytest.LogCaptureFixture
) -> None:
    broken = replace(done(), schemas=tuple(replace(each, schema="{}") for each in done().schemas))
    end(start(tmp_path / "staging", "e2", 2), ExecutionState.FINISHED, broken)
    assert "the end of this try is not reported" in caplog.text
    assert read(events) == []
