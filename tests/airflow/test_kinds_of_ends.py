"""All that shows or judges an attempt gives the same answer, however the attempt ended."""

from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from graph_compiler import Parquet, StreamExecutionEnvironment, Values
from graph_compiler.cli.commands.history import run_history, show_history
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.descriptor import VERSION as DESCRIPTOR_VERSION
from graph_compiler.deployment.documents.descriptor import ExecutionAttempt, TaskDeploymentDescriptor
from graph_compiler.deployment.documents.report import ExecutionReport, Failure, Outcome, Output, ThrowableType
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.submission import Submission
from graph_compiler.errors import SourceLocation
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.run_client.published import published
from graph_compiler.staging.attempts.attempt import DIED, Attempt, read_attempt
from graph_compiler.staging.attempts.attempt_documents import AttemptDocuments, KeptExecution
from graph_compiler.staging.attempts.attempt_lineage import RegionPlaces, attempt_lineage
from graph_compiler.staging.attempts.attempt_metrics import MetricName, attempt_metrics
from graph_compiler.staging.attempts.execution_order import begin, claim_execution
from graph_compiler.staging.attempts.task_attempt import read_task_attempt, timed_attempts
from graph_compiler.staging.gc.survey import survey_run
from graph_compiler.staging.results.kept_regions import kept_execution
from graph_compiler.staging.results.manifest_log import ManifestLog
from graph_compiler.staging.store.local_store import LocalStore
from tests.harness.reports import bare_report

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]
STORE = LocalStore()
FINISHED, FAILED, CANCELED = (ExecutionState.FINISHED, ExecutionState.FAILED, ExecutionState.CANCELED)
BROKEN = Failure(
    throwable_type=ThrowableType.RECOVERABLE_ERROR,
    operator="late",
    declared_at=SourceLocation(file="p.py", line=3),
    message="no column 'x'",
)
FINAL = replace(BROKEN, throwable_type=ThrowableType.NON_RECOVERABLE_ERROR)
OF_THE_TASK = "pipeline 'p', operator 'late': no column 'x'\n  declared at p.py:3"
STOPPED = "it was stopped while it was running"


@dataclass(frozen=True, kw_only=True)
class Kind:
    """An end: the documents it leaves, and what is to be said of it.

    `failure` is what is said with an operator and a place, `reason` all else. `torn`: a report that cannot be read.
    `has_ended`: the task, which is there until the end, learns of it from the documents.
    """

    report: ExecutionReport | None = None
    outcome: tuple[ExecutionState, str | None] | None = None
    torn: bool = False
    is_kept: bool = False
    is_followed: bool = False
    state: ExecutionState = FAILED
    failure: Failure | None = None
    reason: str | None = None
    is_asked_by_task: bool = True


KINDS = {
    "finished": Kind(report=bare_report(), outcome=(FINISHED, None), state=FINISHED),
    "failed with a report": Kind(report=bare_report(BROKEN), outcome=(FAILED, OF_THE_TASK), failure=BROKEN),
    "failed for good": Kind(report=bare_report(FINAL), outcome=(FAILED, OF_THE_TASK), failure=FINAL),
    "failed, and its task failed of something else afterwards": Kind(
        report=bare_report(BROKEN), outcome=(FAILED, "Airflow's API: 403"), failure=BROKEN
    ),
    "failed, before its task could say so": Kind(report=bare_report(BROKEN), failure=BROKEN),
    "died without a report": Kind(is_followed=True, reason=DIED, is_asked_by_task=False),
    "ended without a report": Kind(
        outcome=(FAILED, "the Spark driver ended without a report: code 137"),
        reason="the Spark driver ended without a report: code 137",
        is_asked_by_task=False,
    ),
    "killed": Kind(outcome=(CANCELED, STOPPED), state=CANCELED, reason=STOPPED),
    "killed, and its driver reported that Spark was gone": Kind(
        report=bare_report(replace(BROKEN, message="SparkContext was shut down")),
        outcome=(CANCELED, STOPPED),
        state=CANCELED,
        reason=STOPPED,
    ),
    "left out": Kind(outcome=(CANCELED, "'clean' failed"), state=CANCELED, reason="'clean' failed"),
    "finished, in a try that failed": Kind(report=bare_report(), outcome=(FINISHED, OF_THE_TASK), state=FINISHED),
    "finished, and its task failed afterwards": Kind(
        report=bare_report(),
        outcome=(FAILED, "what 'late' read was recomputed"),
        reason="what 'late' read was recomputed",
        is_asked_by_task=False,
    ),
    "kept": Kind(is_kept=True, state=FINISHED),
    "deferred": Kind(state=ExecutionState.RUNNING, is_asked_by_task=False),
    "given up": Kind(
        outcome=(FAILED, "application app-1 is lost"), reason="application app-1 is lost", is_asked_by_task=False
    ),
    "a report that cannot be read": Kind(torn=True, reason="report.json is not valid JSON"),
}


@pytest.fixture(params=KINDS, ids=str)
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


class Tree:
    """The documents of a region's executions below a staging root."""

    def __init__(self, root: Path, kind: Kind) -> None:
        env = StreamExecutionEnvironment("p")
        rows = env.from_source(Values([(1,)], "x INT"), "in").filter("x > 0").name("late")
        rows.sink_to(Parquet(f"{root}/out")).name("out")
        (self.region,) = describe_regions(compile_pipeline(env.pipeline()))
        self.root = root
        self.kept = self.execution("earlier", 0)
        self.own = self.execution("own", 1)
        if kind.is_kept:
            self.leave(self.kept, KINDS["finished, in a try that failed"])
            begin(STORE, self.own)
            kept = KeptExecution(execution_id="earlier", attempt_number=0, try_number=1)
            self.documents.put_kept(kept)
            self.documents.put_outcome(Outcome(state=FINISHED, ended=1.0, reason=OF_THE_TASK))
        else:
            self.leave(self.own, kind)
        if kind.is_followed:
            begin(STORE, self.execution("next", 2))

    def execution(self, execution_id: str, number: int) -> TaskDeploymentDescriptor:
        return TaskDeploymentDescriptor(
            version=DESCRIPTOR_VERSION,
            identity=RunIdentity.own("p", "r"),
            region=self.region,
            attempt=ExecutionAttempt(execution_id=execution_id, attempt_number=number),
            staging_root=str(self.root / "staging"),
            parameters=(),
            try_number=number + 1,
        )

    @property
    def documents(self) -> AttemptDocuments:
        return AttemptDocuments.of(self.own)

    def leave(self, execution: TaskDeploymentDescriptor, kind: Kind) -> None:
        begin(STORE, execution)
        documents = AttemptDocuments.of(execution)
        documents.put_submission(Submission(command=(), shown="", environment=(), host="w"))
        claim_execution(STORE, execution)
        if (report := kind.report) is not None:
            sink = Output(kind="sink", name="out", location=f"{self.root}/out", rows=3, bytes=4)
            is_done = report.failure is None
            documents.put_report(replace(report, outputs=(sink,) if is_done else ()))
        if kind.torn:
            Path(documents.folder, "report.json").write_text("{")
        if kind.outcome is not None:
            state, reason = kind.outcome
            documents.put_outcome(Outcome(state=state, ended=1.0, reason=reason))


@pytest.fixture
def tree(tmp_path: Path, kind: Kind) -> Tree:
    return Tree(tmp_path, kind)


@pytest.fixture
def attempt(tree: Tree, kind: Kind) -> Attempt:
    """Return what all others ask: of an execution that kept earlier work, the attempt that did it."""
    found = read_attempt(tree.documents.done_by(), is_last=not kind.is_followed)
    assert found is not None
    return found


def shown_words(kind: Kind) -> list[str]:
    """Return the lines that any reader sees of the reason."""
    return (kind.failure.reason if kind.failure else kind.reason or "").splitlines()


def test_an_attempt_has_one_state_and_one_reason(attempt: Attempt, kind: Kind) -> None:
    assert (attempt.state, attempt.failure) == (kind.state, kind.failure)
    assert [line for line in shown_words(kind) if line not in str(attempt.reason)] == []
    assert (attempt.reason is None) is (not shown_words(kind))
    assert attempt.is_final is (kind.failure is FINAL)
    assert [output.rows for output in attempt.outputs] == ([3] if kind.state is FINISHED else [])


def test_history(tree: Tree, attempt: Attempt) -> None:
    (found,) = run_history(tree.own.layout).values()
    assert attempt in found.attempts
    out = StringIO()
    show_history(tree.own.layout, {tree.region.region_id: found}, Console(file=out, width=500))
    assert all(line.strip() in out.getvalue() for line in (attempt.reason or "").splitlines())


def test_view(tree: Tree, attempt: Attempt, kind: Kind) -> None:
    from graph_compiler.airflow_backend.web.runs.attempts import read_documents
    from graph_compiler.airflow_backend.web.runs.dag_runs import Links, RunWithTries
    from graph_compiler.airflow_backend.web.runs.joined_run import joined_run
    from graph_compiler.explain.documents.view_answers import RunSummary

    summary = dict.fromkeys(("logical_date", "queued", "started", "ended", "dag_version"))
    run = RunSummary(run_id="r", state="running", run_type="manual", **summary)
    found = RunWithTries(run=run, version=None, tries=())
    documents = read_documents(tree.own.layout)
    view = joined_run(tree.own.identity, found, None, {}, documents, Links(history_server=None))
    shown = {one.execution_id: one for one in view.regions[0].attempts}[attempt.execution_id]
    assert (shown.state, shown.reason) == (attempt.state, attempt.reason)
    failure = kind.failure
    assert shown.failed_operator == (failure.operator if failure else None)
    assert shown.throwable_type == (failure.throwable_type if failure else None)


def test_task(tree: Tree, kind: Kind) -> None:
    """Its process is there until the end, and it asks when its driver has ended."""
    from airflow.sdk.exceptions import AirflowException, AirflowFailException

    from graph_compiler.airflow_backend.task.driver_end import read_reports
    from graph_compiler.airflow_backend.task.task_try import TaskTry

    if not kind.is_asked_by_task:
        pytest.skip("no task is there to ask")
    error, reports = None, []
    try:
        reports = read_reports(TaskTry([tree.own]), None, is_elsewhere=False)
    except AirflowException as raised:
        error = raised
    assert (error is None) is (kind.state is FINISHED)
    assert [output.rows for _, report in reports for output in report.outputs] == ([] if error else [3])
    if kind.failure is not None:
        assert str(error) == kind.failure.words("p", tree.region.region_id)
    elif kind.report is not None or kind.torn:
        assert str(kind.reason or "") in str(error)
    if kind.report is not None or kind.torn:  # an exit code decides otherwise
        assert isinstance(error, AirflowFailException) is (kind.failure is FINAL)


def test_mail(tree: Tree, attempt: Attempt, kind: Kind) -> None:
    """It is sent when a try has failed: what has no end by then has died."""
    from graph_compiler.airflow_backend.notify.failed_tries import diagnose

    region_id = tree.region.region_id
    found = read_task_attempt(STORE, tree.own.layout, [region_id], "own")
    assert (region_id in found.finished) is (kind.state is FINISHED)
    diagnosis = diagnose(found, [tree.region])
    if kind.state is ExecutionState.RUNNING:
        assert diagnosis.cause == DIED
    elif kind.failure is not None:
        assert (diagnosis.cause, diagnosis.operator) == (kind.failure.message, "late")
        assert diagnosis.declared_at == kind.failure.declared_at
    else:
        assert (diagnosis.cause, diagnosis.operator) == (attempt.reason, None)
    assert (diagnosis.attempt is not None and diagnosis.attempt.is_final) is attempt.is_final


def test_metrics(tree: Tree, attempt: Attempt, kind: Kind) -> None:
    """They are sent when a try has ended, and not for what was kept: that was sent before."""
    attempts = timed_attempts(tree.own.layout, tree.region.region_id, tree.documents)
    found = {one.name: one for one in attempt_metrics([attempts])}
    if kind.is_kept:
        assert found == {}
        return
    is_running = kind.state is ExecutionState.RUNNING
    assert found[MetricName.FINISH].own == ("FAILED" if is_running else attempt.state.value)
    assert (MetricName.SINK_ROWS in found) is bool(attempt.outputs)


def test_lineage(tree: Tree, attempt: Attempt) -> None:
    """It names what was published, also if the task failed afterwards."""
    log = ManifestLog(store=STORE, layout=tree.own.layout)
    places = RegionPlaces(region=tree.region, values={})
    found = attempt_lineage(places, attempt.report, log)
    assert bool(found.outputs) is (attempt.report is not None and not attempt.report.failure)


def test_client(tree: Tree, attempt: Attempt, kind: Kind) -> None:
    """It asks for the last attempt: one that another follows is not among its answers."""
    found = published(STORE, (tree.own.layout,))
    assert [one.rows for one in found.sinks] == [one.rows for one in attempt.outputs]
    words = attempt.words("p", tree.region.region_id)
    assert list(found.failures) == ([] if words is None or kind.is_followed else [words])


def test_resume(tree: Tree, attempt: Attempt) -> None:
    """The next try keeps what has finished, unless the whole task has succeeded: then a person has cleared it."""
    after = tree.execution("after", 5)
    begin(STORE, after)
    outcome = tree.documents.read_outcome()
    has_failed = outcome is not None and outcome.reason is not None
    kept = kept_execution(STORE, after, [after])
    assert kept == (attempt if attempt.is_finished and has_failed else None)


def test_collection(tree: Tree, attempt: Attempt, kind: Kind) -> None:
    facts = survey_run(STORE, tree.own.layout).facts
    is_open = not attempt.state.is_terminal or kind.is_followed
    assert bool(facts.open) is is_open
    assert bool(facts.failed) is (not is_open and attempt.state is not FINISHED)
