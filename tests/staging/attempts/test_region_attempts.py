"""The attempts at a region, from the documents they left."""

import json
import os
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from graph_compiler.cli.commands.history import history_json, run_history, show_history
from graph_compiler.declaration.retention import Retention
from graph_compiler.deployment.documents.descriptor import ExecutionAttempt
from graph_compiler.deployment.documents.progress import VERSION as PROGRESS_VERSION
from graph_compiler.deployment.documents.progress import CurrentStep, ExecutionProgress
from graph_compiler.deployment.documents.report import (
    ExecutionReport,
    Failure,
    Outcome,
    Output,
    Phase,
    PublishedCommit,
    ThrowableType,
)
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import DESCRIPTOR, OUTCOME, StagingLayout
from graph_compiler.deployment.documents.submission import Submission
from graph_compiler.deployment.documents.wire import to_json, to_wire
from graph_compiler.errors import SourceLocation
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import RegionId
from graph_compiler.staging.attempts.attempt import DIED
from graph_compiler.staging.attempts.attempts import (
    ExecutionNotFoundError,
    executions,
    failure_times,
    find_run,
    regions_of,
)
from graph_compiler.staging.store.local_store import LocalStore
from tests.harness.staging_trees import FIRST, Run

REGION = RegionId("late routes")
SUBMITTED = Submission(command=(), shown="", environment=(), host="worker-1")
BROKEN = Failure(throwable_type=ThrowableType.RECOVERABLE_ERROR, operator="late", declared_at=None, message="no")

PROGRESS = ExecutionProgress(
    version=PROGRESS_VERSION,
    application_id="local-1",
    ui_url="http://driver:4040",
    current=CurrentStep(operator="late", phase=Phase.PREPARE, since=7.0),
    vertices=(),
    actions=(),
)

OF_AN_OPERATOR = replace(BROKEN, declared_at=SourceLocation(file="p.py", line=3))
NAMELESS = replace(BROKEN, operator=None)


def report(failure: Failure | None) -> ExecutionReport:
    return replace(ExecutionReport.of_nothing(), failure=failure)


@pytest.fixture
def layout(tmp_path: Path) -> StagingLayout:
    return StagingLayout(root=str(tmp_path), identity=RunIdentity.own("flights", "manual__2013-01-01"))


def leave(layout: StagingLayout, number: int, region_id: RegionId = REGION, /, **documents: object) -> None:
    """Leave the documents of attempt `number`, which began that many seconds after the epoch."""
    folder = Path(layout.executions(region_id), f"e{number}")
    folder.mkdir(parents=True)
    attempt = ExecutionAttempt(execution_id=f"e{number}", attempt_number=number)
    region = {"retention": to_wire(Retention(attempts_history_size=3))}
    told = {"attempt": to_wire(attempt), "region": region}
    (folder / "descriptor.json").write_text(json.dumps(told))
    for name, document in documents.items():
        (folder / f"{name}.json").write_text(to_json(document))
        os.utime(folder / f"{name}.json", (number + 0.5, number + 0.5))
    os.utime(folder / "descriptor.json", (number, number))


@pytest.mark.parametrize(
    ("documents", "state", "reason"),
    [
        ({}, ExecutionState.DEPLOYING, None),
        ({"submission": SUBMITTED}, ExecutionState.RUNNING, None),
        ({"submission": SUBMITTED, "report": report(None)}, ExecutionState.FINISHED, None),
        ({"submission": SUBMITTED, "report": report(NAMELESS)}, ExecutionState.FAILED, "no"),
        (
            {
                "submission": SUBMITTED,
                "report": report(None),
                "outcome": Outcome(state=ExecutionState.CANCELED, ended=7, reason="marked"),
            },
            ExecutionState.CANCELED,
            "marked",
        ),
        (
            {
                "submission": SUBMITTED,
                "report": report(BROKEN),
                "outcome": Outcome(state=ExecutionState.FINISHED, ended=7, reason=None),
            },
            ExecutionState.FAILED,
            "its documents contradict each other: its task has FINISHED, but its driver has FAILED: "
            "operator 'late': no",
        ),
        (
            {"submission": SUBMITTED, "report": report(OF_AN_OPERATOR)},
            ExecutionState.FAILED,
            "operator 'late': no\n  declared at p.py:3",
        ),
        (
            {
                "submission": SUBMITTED,
                "report": report(OF_AN_OPERATOR),
                "outcome": Outcome(state=ExecutionState.FAILED, ended=7, reason="no"),
            },
            ExecutionState.FAILED,
            "operator 'late': no\n  declared at p.py:3",
        ),
        (
            {
                "submission": SUBMITTED,
                "report": report(OF_AN_OPERATOR),
                "outcome": Outcome(state=ExecutionState.FAILED, ended=7, reason="code 81"),
            },
            ExecutionState.FAILED,
            "operator 'late': no\n  declared at p.py:3",
        ),
        (
            {
                "submission": SUBMITTED,
                "report": report(OF_AN_OPERATOR),
                "outcome": Outcome(state=ExecutionState.CANCELED, ended=7, reason="marked"),
            },
            ExecutionState.CANCELED,
            "marked",
        ),
        (
            {"submission": SUBMITTED, "outcome": Outcome(state=ExecutionState.SCHEDULED, ended=7, reason=None)},
            ExecutionState.FAILED,
            "its documents contradict each other: it ends as SCHEDULED, and was RUNNING",
        ),
    ],
)
def test_the_state_follows_from_the_documents(
    layout: StagingLayout, documents: dict[str, object], state: ExecutionState, reason: str | None
) -> None:
    leave(layout, 0, **documents)
    (found,) = executions(LocalStore(), layout, REGION)
    assert (found.state, found.reason) == (state, reason)
    assert found.host == ("worker-1" if "submission" in documents else None)
    assert (found.ended is None) is not state.is_terminal


@pytest.mark.parametrize(
    ("readable", "torn", "state"),
    [
        ({}, "outcome", ExecutionState.FAILED),
        ({}, "report", ExecutionState.FAILED),
        ({"report": report(None)}, "outcome", ExecutionState.FINISHED),
        ({"report": report(None)}, "submission", ExecutionState.FINISHED),
    ],
)
def test_an_unreadable_end_is_still_an_end(
    layout: StagingLayout, readable: dict[str, object], torn: str, state: ExecutionState
) -> None:
    leave(layout, 0, submission=SUBMITTED, **readable)
    (Path(layout.executions(REGION), "e0") / f"{torn}.json").write_text("{")
    (found,) = executions(LocalStore(), layout, REGION)
    assert found.state is state
    if state is ExecutionState.FAILED:
        assert f"e0/{torn}.json" in str(found.reason)


def test_an_attempt_without_an_identity_is_left_out(layout: StagingLayout) -> None:
    leave(layout, 0)
    leave(layout, 1)
    descriptor = Path(layout.executions(REGION), "e0", "descriptor.json")
    descriptor.write_text("[]")
    assert [one.execution_id for one in executions(LocalStore(), layout, REGION)] == ["e1"]


def test_an_unfinished_attempt_with_a_successor_is_dead(layout: StagingLayout) -> None:
    leave(layout, 0, submission=SUBMITTED)
    leave(layout, 1, submission=SUBMITTED)
    first, second = executions(LocalStore(), layout, REGION)
    assert (first.state, first.reason) == (ExecutionState.FAILED, DIED)
    assert second.state is ExecutionState.RUNNING


def test_progress_is_used_until_there_is_a_report(layout: StagingLayout) -> None:
    leave(layout, 0, submission=SUBMITTED, progress=PROGRESS)
    leave(layout, 1, submission=SUBMITTED, progress=PROGRESS, report=report(None))
    leave(layout, 2, submission=SUBMITTED, progress=PROGRESS)
    died, finished, running = executions(LocalStore(), layout, REGION)
    assert [died.progress, finished.progress, running.progress] == [PROGRESS, None, PROGRESS]
    shown = Console(file=StringIO(), width=200)
    show_history(layout, run_history(layout), shown)
    lines = [line.strip() for line in shown.file.getvalue().splitlines()]  # type: ignore[attr-defined]
    seen = "'late', prepare, since 1970-01-01 00:00:07 UTC"
    assert [line for line in lines if seen in line] == [f"last seen in {seen}", f"now in {seen}"]
    as_json = json.loads(history_json(run_history(layout)))[REGION]
    assert [one["current"] and one["current"]["operator"] for one in as_json] == ["late", None, "late"]
    assert "progress" not in as_json[0]
    assert [one["attempt"] for one in as_json] == [1, 2, 3]
    assert "attempt_number" not in as_json[0]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        to_json(PROGRESS).encode()[:-20],
        to_json(replace(PROGRESS, version=0)).encode(),
        b'{"type": "ExecutionProgress", "version": 1}',
        b"\xff\xfe",
        None,  # nobody may read it: here it is a folder
    ],
)
def test_unreadable_progress_is_none(layout: StagingLayout, content: bytes | None) -> None:
    leave(layout, 0, submission=SUBMITTED)
    path = Path(layout.execution(REGION, "e0") + "/progress.json")
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    (found,) = executions(LocalStore(), layout, REGION)
    assert (found.state, found.progress) == (ExecutionState.RUNNING, None)


def test_the_last_sixteen_before_the_current_one_are_kept(layout: StagingLayout) -> None:
    for number in range(20):
        leave(layout, number)
    kept = executions(LocalStore(), layout, REGION)
    assert [execution.attempt_number for execution in kept] == list(range(3, 20))


def test_failures_are_those_of_the_other_attempts(layout: StagingLayout) -> None:
    leave(layout, 0, report=report(BROKEN))
    leave(layout, 1, report=report(None))
    leave(layout, 2, submission=SUBMITTED)  # died
    leave(layout, 3)
    assert failure_times(LocalStore(), layout, [REGION], but="e3") == (0.5, 2)


def test_a_try_that_failed_in_several_regions_counts_once(layout: StagingLayout) -> None:
    other = RegionId("by_day")
    for number in range(2):
        leave(layout, number, report=report(BROKEN))
    for number in range(1, 3):
        leave(layout, number, other, report=report(BROKEN))
    of_both = failure_times(LocalStore(), layout, [REGION, other], but="e9")
    assert len(of_both) == 3
    assert of_both == tuple(sorted(of_both))
    assert failure_times(LocalStore(), layout, [other, REGION], but="e9") == of_both


def test_runs_are_found_by_name_and_missing_ones_named(layout: StagingLayout) -> None:
    leave(layout, 0)
    find_run(LocalStore(), layout)
    assert regions_of(LocalStore(), layout) == (REGION,)
    other = StagingLayout(root=layout.root, identity=RunIdentity.own("flights", "other"))
    with pytest.raises(ExecutionNotFoundError, match="found: manual__2013-01-01"):
        find_run(LocalStore(), other)


def test_history_as_json_has_no_reports(layout: StagingLayout) -> None:
    leave(layout, 0, submission=SUBMITTED, report=report(BROKEN))
    text = history_json(run_history(layout))
    assert '"state": "FAILED"' in text
    assert '"reason": "operator \'late\': no"' in text
    assert '"report"' not in text


def test_history_shows_the_commit_of_a_table(layout: StagingLayout) -> None:
    commit = PublishedCommit(kind="version", id="7")
    sold = Output(kind="sink", name="sold", location="Delta table /sold", rows=1, bytes=9, commit=commit)
    leave(layout, 0, submission=SUBMITTED, report=replace(report(None), outputs=(sold,)))
    found = run_history(layout)
    out = StringIO()
    show_history(layout, found, Console(file=out, width=80))
    assert "      sold: 1 row, Delta table /sold, version 7\n" in out.getvalue()
    (attempt,) = json.loads(history_json(found))[REGION]
    assert attempt["outputs"] == [
        {"name": "sold", "kind": "sink", "rows": 1, "bytes": 9, "path": "Delta table /sold", "version": "7"}
    ]


def test_history_shows_the_configured_number_of_earlier_attempts(layout: StagingLayout) -> None:
    for number in range(6):
        leave(layout, number, submission=SUBMITTED, report=report(BROKEN))
    shown = run_history(layout)[REGION].attempts
    assert [attempt.attempt_number for attempt in shown] == [2, 3, 4, 5]
    descriptor = Path(layout.executions(REGION), "e5", "descriptor.json")
    document = json.loads(descriptor.read_text())
    del document["region"]["retention"]["attempts_history_size"]
    descriptor.write_text(json.dumps(document))
    assert len(run_history(layout)[REGION].attempts) == 6
    descriptor.write_text("{")  # just being written
    assert len(run_history(layout)[REGION].attempts) == 5


def test_no_attempt_ends_before_it_starts_whatever_the_clock_of_its_worker_says(tmp_path: Path) -> None:
    root = Run(tmp_path / "staging")
    root.begin(FIRST, "e1")
    folder = Path(root.layout.execution(RegionId(FIRST), "e1"))
    started = (folder / DESCRIPTOR).stat().st_mtime
    late = Outcome(state=ExecutionState.FAILED, ended=started - 300, reason="broken")
    (folder / OUTCOME).write_text(to_json(late))
    (found,) = executions(LocalStore(), root.layout, RegionId(FIRST))
    assert (found.started, found.ended) == (started, started)
