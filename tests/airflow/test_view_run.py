"""A run as the view shows it: Airflow's tries and the attempts' documents, joined."""

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from graph_compiler.deployment.documents.descriptor import ExecutionAttempt
from graph_compiler.deployment.documents.manifest import ContractCount, DataFile, Manifest, ManifestPartition
from graph_compiler.deployment.documents.progress import CurrentStep, ExecutionProgress
from graph_compiler.deployment.documents.report import (
    VERSION,
    ActionMetrics,
    ExecutionReport,
    Failure,
    OperatorMetrics,
    Outcome,
    Output,
    Phase,
    RecomputedResult,
    SlowestTask,
    ThrowableType,
    VertexMetrics,
)
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.deployment.documents.stream import PublishedBatch, StreamProgress
from graph_compiler.deployment.documents.submission import Submission
from graph_compiler.deployment.documents.wire import to_json, to_wire
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import IntermediateDataSetId, JobVertexId, RegionId, TaskId, TaskName
from graph_compiler.staging.attempts.attempt import Attempt

if TYPE_CHECKING:
    from graph_compiler.airflow_backend.web.runs.dag_runs import TryRow
    from graph_compiler.explain.documents.view_run import ViewRegionRun, ViewRun

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]

RUN_ID = "manual__2013-01-01T00:00:00+00:00"
LATE = RegionId("late")
RESULT = IntermediateDataSetId(f"{'ab' * 16}-0")


def a_try(number: int, state: str | None, *, is_current: bool = False, id: str = "") -> "TryRow":
    from graph_compiler.airflow_backend.web.runs.dag_runs import TryRow

    return TryRow(
        task_id=TaskId("late"),
        map_index=-1,
        execution_id=id or f"e{number}",
        try_number=number,
        state=state,
        queued=number - 0.25,
        started=float(number),
        ended=None,
        host="of Airflow",
        is_current=is_current,
    )


def an_attempt(number: int, state: ExecutionState, **more: Any) -> Attempt:
    values: dict[str, Any] = dict.fromkeys(("host", "ended", "reason", "report", "progress"))
    return Attempt(
        execution_id=f"e{number}", attempt_number=number - 1, state=state, started=number + 0.5, **(values | more)
    )


def joined(tries: list["TryRow"], attempts: list[Attempt], history: str | None = None) -> "ViewRun":
    from graph_compiler.airflow_backend.web.runs.attempts import Documents
    from graph_compiler.airflow_backend.web.runs.dag_runs import Links, RunWithTries
    from graph_compiler.airflow_backend.web.runs.joined_run import joined_run
    from graph_compiler.explain.documents.view_answers import RunSummary

    run = RunSummary(
        run_id=RUN_ID,
        state="running",
        run_type="manual",
        logical_date=None,
        queued=0.5,
        started=1.0,
        ended=None,
        dag_version=3,
    )
    found = RunWithTries(run=run, version=None, tries=tuple(tries))
    documents = Documents(
        are_there=True, attempts={LATE: tuple(attempts)} if attempts else {}, tasks=12_000, tasks_read=10_000
    )
    links = Links(history_server=history)
    identity, tasks = RunIdentity.own("flights", RUN_ID), {TaskName(LATE): (LATE,)}
    return joined_run(identity, found, "of the plan", tasks, documents, links)


def region(tries: list["TryRow"], attempts: list[Attempt]) -> "ViewRegionRun":
    run = joined(tries, attempts)
    assert (run.tasks, run.tasks_read) == (12_000, 10_000)
    (found,) = run.regions
    return found


@pytest.mark.parametrize(
    ("of_airflow", "of_documents", "shown"),
    [
        ("running", None, ExecutionState.RUNNING),
        ("running", ExecutionState.DEPLOYING, ExecutionState.DEPLOYING),
        ("running", ExecutionState.FINISHED, ExecutionState.FINISHED),
        ("failed", ExecutionState.RUNNING, ExecutionState.FAILED),
        ("failed", ExecutionState.CANCELED, ExecutionState.CANCELED),
        ("success", ExecutionState.FINISHED, ExecutionState.FINISHED),
        ("restarting", ExecutionState.RUNNING, ExecutionState.CANCELING),
        ("restarting", ExecutionState.FAILED, ExecutionState.FAILED),
    ],
)
def test_an_attempt_is_over_when_airflow_or_its_documents_say_so(
    of_airflow: str, of_documents: ExecutionState | None, shown: ExecutionState
) -> None:
    left = [an_attempt(1, of_documents)] if of_documents else []
    found = region([a_try(1, of_airflow, is_current=True)], left)
    assert [one.state for one in found.attempts] == [shown]
    assert (found.state, found.airflow_state) == (shown, of_airflow)


@pytest.mark.parametrize(
    ("marked", "of_documents", "task"),
    [
        ("success", ExecutionState.FAILED, ExecutionState.FINISHED),
        ("success", ExecutionState.CANCELED, ExecutionState.FINISHED),
        ("failed", ExecutionState.FINISHED, ExecutionState.FAILED),
        ("skipped", ExecutionState.FINISHED, ExecutionState.CANCELED),
    ],
)
def test_a_marked_task_shows_its_mark_and_its_attempt_keeps_its_state(
    marked: str, of_documents: ExecutionState, task: ExecutionState
) -> None:
    found = region([a_try(1, marked, is_current=True)], [an_attempt(1, of_documents)])
    assert found.state is task
    assert [one.state for one in found.attempts] == [of_documents]


def test_a_row_that_waits_for_its_next_try_is_not_an_attempt() -> None:
    for waiting in ("up_for_retry", "scheduled", None):
        tries = [a_try(1, "failed"), a_try(1, waiting, is_current=True, id="next")]
        found = region(tries, [an_attempt(1, ExecutionState.FAILED)])
        assert [one.execution_id for one in found.attempts] == ["e1"]
    assert found.state is ExecutionState.CREATED
    assert region([a_try(0, None, is_current=True)], []).attempts == ()
    assert region([a_try(0, "upstream_failed", is_current=True)], []).attempts == ()


def test_attempts_unknown_to_airflow_keep_their_last_state() -> None:
    tries = [a_try(3, "running", is_current=True)]
    left = [an_attempt(1, ExecutionState.FAILED), an_attempt(2, ExecutionState.CANCELED)]
    found = region(tries, [*left, an_attempt(3, ExecutionState.RUNNING)])
    assert [(one.number, one.state.value) for one in found.attempts] == [(0, "FAILED"), (1, "CANCELED"), (2, "RUNNING")]
    (alone,) = joined([], left).regions
    assert (alone.state, alone.airflow_state) == (ExecutionState.CANCELED, None)


def test_a_try_that_left_no_execution_has_no_number() -> None:
    tries = [a_try(1, "failed"), a_try(2, "running", is_current=True)]
    second = replace(an_attempt(2, ExecutionState.RUNNING), attempt_number=0)
    found = region(tries, [second])
    assert [(one.number, one.try_number) for one in found.attempts] == [(None, 1), (0, 2)]


def test_a_report_becomes_rows_outputs_contracts_and_work() -> None:
    finished = an_attempt(1, ExecutionState.FINISHED, report=report(), host="worker-1", ended=9.0)
    (found,) = region([a_try(1, "success", is_current=True)], [finished]).attempts
    assert found.vertices[0].rows == 7
    assert found.vertices[0].operators[0].side_rows == (("cancelled", 3),)
    assert [(one.kind, one.result) for one in found.outputs] == [("staged", RESULT), ("sink", None)]
    assert (found.contracts[0].name, found.contracts[0].violations) == ("holds", 2)
    assert found.work is not None
    assert (found.work.tasks, found.work.spilled_bytes, found.work.shuffled_bytes) == (8, 20, 60)
    assert found.work.input_bytes == 200
    assert found.current is None
    assert "computed" in found.recomputed[0]
    assert (found.host, found.ended, found.started) == ("worker-1", 9.0, 1.0)


def test_an_attempt_without_a_report_shows_the_last_progress() -> None:
    told = ExecutionProgress(
        version=1,
        application_id="local-1",
        ui_url="http://driver:4040",
        current=CurrentStep(operator="late", phase=Phase.PREPARE, since=7.0),
        vertices=report().vertices,
        actions=report().actions,
    )
    for of_airflow, state in (("running", ExecutionState.RUNNING), ("failed", ExecutionState.FAILED)):
        left = an_attempt(1, state, progress=told)
        (found,) = region([a_try(1, of_airflow, is_current=True)], [left]).attempts
        assert found.current is not None
        assert (found.current.operator, found.current.phase) == ("late", Phase.PREPARE)
        assert found.current.since == 7.0
        assert [one.rows for one in found.vertices] == [7]
        assert found.work is not None
        assert found.work.tasks == 8
        assert found.application_id == "local-1"
        assert found.outputs == ()
        # Spark's own UI is there while its application is.
        assert found.spark_url == ("http://driver:4040" if of_airflow == "running" else None)


def test_a_report_takes_precedence_over_progress() -> None:
    told = ExecutionProgress(
        version=1,
        application_id="local-0",
        ui_url="http://driver:4040",
        current=CurrentStep(operator="late", phase=Phase.PREPARE, since=7.0),
        vertices=(),
        actions=(),
    )
    both = an_attempt(1, ExecutionState.FINISHED, report=report(), progress=told)
    (found,) = region([a_try(1, "success", is_current=True)], [both]).attempts
    assert (found.current, found.application_id, len(found.vertices)) == (None, "local-1", 1)


def test_the_slowest_task_is_the_one_that_cost_most_time() -> None:
    def action(operator: str, median: float, longest: float) -> ActionMetrics:
        slowest = SlowestTask(stage_id=4, tasks=9, median_seconds=median, longest_seconds=longest)
        return replace(report().actions[0], operator=operator, slowest_task=slowest)

    found = replace(report(), actions=(action("even", 50.0, 60.0), action("skewed", 1.0, 30.0), report().actions[0]))
    finished = an_attempt(1, ExecutionState.FINISHED, report=found)
    (shown,) = region([a_try(1, "success", is_current=True)], [finished]).attempts
    assert shown.work is not None
    slowest = shown.work.slowest_task
    assert slowest is not None
    assert (slowest.operator, slowest.longest_seconds, slowest.tasks) == ("skewed", 30.0, 9)


def test_batches_of_a_stream_are_shown_as_far_as_they_are_known() -> None:
    progress = StreamProgress(
        state_rows=5, state_bytes=900, watermark="2024-01-01T00:22:00.000Z", behind=3, rows_in=7, waited=90.0
    )
    batches = (
        PublishedBatch(number=3, rows=2, seconds=1.5),
        PublishedBatch(number=4, rows=4, seconds=0.5, late=1, progress=progress),
    )
    finished = an_attempt(1, ExecutionState.FINISHED, report=replace(report(), batches=batches))
    (shown,) = region([a_try(1, "success", is_current=True)], [finished]).attempts
    unknown, known = shown.batches
    assert (unknown.number, unknown.rows_in, unknown.rows_out, unknown.late, unknown.watermark) == (3, None, 2, 0, None)
    assert (known.rows_in, known.rows_out, known.late, known.watermark) == (7, 4, 1, "2024-01-01T00:22:00.000Z")
    assert (known.state_rows, known.state_bytes, known.behind, known.seconds) == (5, 900, 3, 0.5)
    assert (unknown.waited, known.waited) == (None, 90.0)


def test_a_stream_that_runs_shows_its_last_batches_and_since_when_one_is_in_progress() -> None:
    told = ExecutionProgress(
        version=1,
        application_id="local-1",
        ui_url=None,
        current=CurrentStep(operator="counts", phase=Phase.PREPARE, since=7.0),
        vertices=(),
        actions=(),
        batches=(PublishedBatch(number=3, rows=2, seconds=1.5),),
    )
    left = an_attempt(1, ExecutionState.RUNNING, progress=told)
    (found,) = region([a_try(1, "running", is_current=True)], [left]).attempts
    assert [(one.number, one.rows_out) for one in found.batches] == [(3, 2)]
    assert found.current is not None
    assert (found.current.operator, found.current.since) == ("counts", 7.0)


def test_a_failure_has_a_message_and_a_place() -> None:
    failure = Failure(throwable_type=ThrowableType.RECOVERABLE_ERROR, operator="flown", declared_at=None, message="no")
    failed = an_attempt(1, ExecutionState.FAILED, reason="no", report=report(failure))
    (found,) = region([a_try(1, "failed", is_current=True)], [failed]).attempts
    assert (found.reason, found.failed_operator) == ("no", "flown")
    assert found.throwable_type is ThrowableType.RECOVERABLE_ERROR


def test_links_lead_to_the_log_and_to_the_history_server_where_there_is_one() -> None:
    tries, left = ([a_try(1, "success", is_current=True)], [an_attempt(1, ExecutionState.FINISHED, report=report())])
    (found,) = joined(tries, left).regions[0].attempts
    assert found.log_url == ("/dags/flights/runs/manual__2013-01-01T00%3A00%3A00%2B00%3A00/tasks/late?try_number=1")
    assert found.spark_url is None
    (found,) = joined(tries, left, "https://spark.example/").regions[0].attempts
    assert found.spark_url == "https://spark.example/history/local-1/jobs/"


@pytest.fixture
def layout(tmp_path: Path) -> StagingLayout:
    return StagingLayout(root=str(tmp_path), identity=RunIdentity.own("flights", RUN_ID))


def leave(layout: StagingLayout, **documents: object) -> Path:
    folder = Path(layout.executions(RegionId("late")), "e1")
    folder.mkdir(parents=True, exist_ok=True)
    attempt = ExecutionAttempt(execution_id="e1", attempt_number=0)
    for name, document in {"descriptor": {"attempt": to_wire(attempt)}, **documents}.items():
        (folder / f"{name}.json").write_text(to_json(document))
    return folder


def test_documents_are_read_again_when_one_is_added(layout: StagingLayout) -> None:
    from graph_compiler.airflow_backend.web.runs.attempts import read_documents

    assert not read_documents(layout).are_there
    leave(layout)
    states = []
    for more in (
        {},
        {"submission": Submission(command=(), shown="", environment=(), host="w")},
        {"outcome": Outcome(state=ExecutionState.FAILED, ended=2.0, reason="no")},
    ):
        leave(layout, **more)
        found = read_documents(layout)
        assert found.attempts == read_documents(layout).attempts
        states.append(found.attempts[LATE][0].state.value)
    assert states == ["DEPLOYING", "RUNNING", "FAILED"]


def test_progress_is_read_again_when_it_changes(layout: StagingLayout) -> None:
    from graph_compiler.airflow_backend.web.runs.attempts import read_documents

    for operator in ("flown", "lateness"):
        step = CurrentStep(operator=operator, phase=Phase.STAGE, since=1.0)
        told = ExecutionProgress(
            version=1, application_id="local-1", ui_url="http://driver:4040", current=step, vertices=(), actions=()
        )
        leave(layout, progress=told)
        (found,) = read_documents(layout).attempts[LATE]
        assert found.progress == told


def test_a_run_shows_how_many_of_its_tasks_were_read(layout: StagingLayout, monkeypatch: pytest.MonkeyPatch) -> None:
    from graph_compiler.airflow_backend.web.runs import attempts

    for region_id in ("a", "b", "late"):
        Path(layout.executions(RegionId(region_id))).mkdir(parents=True)
    leave(layout)
    found = attempts.read_documents(layout)
    assert (found.tasks, found.tasks_read, list(found.attempts)) == (3, 3, ["late"])
    monkeypatch.setattr(attempts, "_MOST_ENTRIES", 2)
    found = attempts.read_documents(layout)
    assert (found.tasks, found.tasks_read, list(found.attempts)) == (3, 2, [])
    monkeypatch.setattr(attempts, "_MOST_ENTRIES", 3)
    monkeypatch.setattr(attempts, "_MOST_OF_RUN", 1)
    found = attempts.read_documents(layout)
    assert (found.tasks, found.tasks_read, found.attempts) == (3, 2, {"late": ()})


def test_unreadable_documents_are_left_out(layout: StagingLayout) -> None:
    from graph_compiler.airflow_backend.web.runs.attempts import read_documents

    folder = leave(layout, report={"version": 0})
    assert read_documents(layout).attempts == {LATE: ()}
    (folder / "report.json").unlink()
    assert len(read_documents(layout).attempts[LATE]) == 1


def test_special_files_are_left_out_and_do_not_block(layout: StagingLayout, monkeypatch: pytest.MonkeyPatch) -> None:
    from graph_compiler.airflow_backend.web.runs import attempts

    folder = leave(layout)

    def found() -> Attempt | None:
        (attempt,) = attempts.read_documents(layout).attempts[LATE] or (None,)
        return attempt

    (folder / "submission.json").write_bytes(b"{}")
    whole = found()
    assert whole is not None
    assert whole.host is None
    for name, content, why in (
        ("outcome.json", b"\xff\xfe", "is not valid JSON"),
        ("report.json", None, "is a FIFO"),  # to open it would wait for a writer
    ):
        os.mkfifo(folder / name) if content is None else (folder / name).write_bytes(content)
        over = found()
        assert over is not None
        assert over.state is ExecutionState.FAILED
        assert why in (over.reason or "")
        (folder / name).unlink()
    before = (folder / "descriptor.json").read_bytes()
    (folder / "descriptor.json").write_bytes(b"[]")
    assert found() is None
    (folder / "descriptor.json").write_bytes(before)
    assert found() is not None
    monkeypatch.setattr(attempts, "_MOST_BYTES", 10)
    assert attempts.read_documents(layout).attempts == {LATE: ()}


def test_a_staged_result_is_described_by_its_last_commit(layout: StagingLayout) -> None:
    from graph_compiler.airflow_backend.web.rows.staged_files import find_result

    for epoch in (0, 1):
        key = Path(layout.manifest(RESULT, epoch))
        key.parent.mkdir(parents=True, exist_ok=True)
        key.write_text(to_json(manifest(epoch)))
    found = find_result(layout, RESULT, rows_are_shown=False)
    assert found is not None
    assert (found.epoch, found.rows, found.bytes) == (1, 5, 50)
    assert [(one.rows, one.bytes) for one in found.partitions] == [(5, 50), (0, 0)]
    assert [(one.name, one.type, one.nullable) for one in found.schema] == [
        ("k", "string", False),
        ("v", "array<struct<a:bigint,b:map<string,decimal(10,2)>>>", True),
    ]


@pytest.mark.parametrize("result", ["../../secret", "", f"{RESULT}/../x", "x" * 32 + "-0", f"{RESULT}\n"])
def test_only_the_id_of_a_result_becomes_a_path(layout: StagingLayout, result: str) -> None:
    from graph_compiler.airflow_backend.web.rows.staged_files import find_result

    assert find_result(layout, result, rows_are_shown=False) is None


def report(failure: Failure | None = None) -> ExecutionReport:
    vertex = JobVertexId("ab" * 16)
    metrics = OperatorMetrics(
        name="flown", rows_in=10, rows_out=7, side_rows=(("cancelled", 3),), may_be_too_high=False
    )
    action = ActionMetrics(
        name="a",
        operator="flown",
        vertex_id=vertex,
        phase=Phase.STAGE,
        seconds=1.0,
        stage_ids=(1,),
        tasks=4,
        failed_tasks=0,
        repeated_stages=0,
        input_bytes=100,
        spilled_bytes=10,
        shuffle_read_bytes=5,
        shuffle_written_bytes=30,
        slowest_task=None,
    )
    again = RecomputedResult(
        result_id=RESULT,
        producer=RegionId("first"),
        epoch=1,
        operators=("flown",),
        rows=7,
        seconds=1.0,
        reason="a file is gone",
    )
    staged = f"/root/flights/run/data/{RESULT}/epoch-0-e1"
    return ExecutionReport(
        version=VERSION,
        application_id="local-1",
        outputs=(
            Output(kind="staged", name="flown", location=staged, rows=7, bytes=70),
            Output(kind="sink", name="out", location="/out", rows=7, bytes=70),
        ),
        contracts=(ContractCount(contract="holds", on_violation="warn", rows=5, violations=2),),
        vertices=(VertexMetrics(vertex_id=vertex, name="flown", operators=(metrics,), seconds=1.0),),
        actions=(action, action),
        reads=(),
        recomputed=(again,),
        failure=failure,
    )


def manifest(epoch: int) -> Manifest:
    nested = (
        '{"type":"struct","fields":[{"name":"k","type":"string","nullable":false,"metadata":{}},'
        '{"name":"v","nullable":true,"metadata":{},"type":{"type":"array","containsNull":true,"elementType":'
        '{"type":"struct","fields":[{"name":"a","type":"bigint","nullable":true,"metadata":{}},'
        '{"name":"b","nullable":true,"metadata":{},"type":{"type":"map","keyType":"string",'
        '"valueType":"decimal(10,2)","valueContainsNull":true}}]}}}]}'
    )
    return Manifest(
        version=2,
        result_id=RESULT,
        epoch=epoch,
        parent_epoch=None,
        attempt=ExecutionAttempt(execution_id="e1", attempt_number=0),
        plan_id="p",
        fingerprint="f",
        location="/data",
        schema=nested,
        partitions=(
            ManifestPartition(index=0, files=(DataFile(name="a", rows=5, bytes=50),)),
            ManifestPartition(index=1, files=()),
        ),
        checksum=None,
        contracts=(),
    )
