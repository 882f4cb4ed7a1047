"""A failed try as a callback of Airflow knows it, and the failed task that an alert shows.

                       exception   state   try   documents
task's process         yes         yes     yes   yes
worker was killed      no          no      yes   as far as they got; the callback runs in the Dag processor
failure of the run     no          no      no    of the last try; the same
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from airflow.sdk import TaskInstanceState
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from graph_compiler.airflow_backend.run_identities import identity_of_task
from graph_compiler.airflow_backend.task.task_operator import DeploymentTaskOperator
from graph_compiler.airflow_backend.web.runs.dag_runs import Links, run_page, task_page
from graph_compiler.deployment.documents.descriptor import RegionDescriptor
from graph_compiler.deployment.documents.report import Failure
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.errors import SourceLocation
from graph_compiler.explain.alerts.alert import AirflowTry, FailedTask, Link
from graph_compiler.explain.alerts.repetition import repetition
from graph_compiler.identifiers import RegionId
from graph_compiler.staging.attempts.task_attempt import NO_ATTEMPTS, TaskAttempt, causes, read_task_attempt
from graph_compiler.staging.store.stores import store_of

_PERMANENT = "the failure is permanent, a retry cannot help"
_POLICY = "its retry policy says so"
_NO_REASON = "Airflow lost the process of the task, and does not say why: its worker may have been killed"


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedTry:
    """A try whose callback runs. `id`, and with it `state` and `exception`, are None if only the run has failed.

    It has the attributes of a task instance that identify a run.
    """

    dag_id: str
    run_id: str
    task_id: str
    map_index: int
    task: Any = None
    id: str | None = None
    try_number: int | None = None
    max_tries: int | None = None
    state: object = None
    exception: BaseException | None = None

    @classmethod
    def of(cls, instance: Any, exception: BaseException | None) -> FailedTry:
        """Return the try of a task instance, as its callback is given it."""
        index = getattr(instance, "map_index", None)
        return cls(
            dag_id=str(instance.dag_id),
            run_id=str(instance.run_id),
            task_id=str(instance.task_id),
            map_index=-1 if index is None else index,
            task=getattr(instance, "task", None),
            id=str(instance.id),
            try_number=getattr(instance, "try_number", None),
            max_tries=getattr(instance, "max_tries", None),
            state=getattr(instance, "state", None),
            exception=exception,
        )

    @property
    def shown_index(self) -> int | None:
        """The map index, None if the task is not mapped."""
        return self.map_index if self.map_index >= 0 else None


def failed_task(failed: FailedTry, root: str | None, pages: Pages) -> FailedTask:
    """Return what an alert shows of a try; `root` None: the staging root is not known here."""
    if not isinstance(failed.task, DeploymentTaskOperator):
        return _other_task(failed, pages)
    unknown: list[str] = []
    documents, identity = NO_ATTEMPTS, None
    try:
        identity = identity_of_task(failed.task.regions[0], failed)
        if root is not None:
            layout = StagingLayout(root=root, identity=identity)
            ids = [region.region_id for region in failed.task.regions]
            documents = read_task_attempt(store_of(root), layout, ids, failed.id)
    except Exception as error:  # an alert shows what it can: of stores, connections, and documents of other versions
        unknown.append(f"the documents of the attempt: {_words(error)}")
    return _task_of_pipeline(failed, failed.task, identity, documents, pages, unknown)


def _task_of_pipeline(  # the parts of one value
    failed: FailedTry,
    task: DeploymentTaskOperator,
    identity: RunIdentity | None,
    documents: TaskAttempt,
    pages: Pages,
    unknown: list[str],
) -> FailedTask:
    found = diagnose(documents, task.regions)
    number = failed.try_number or found.try_number
    if found.application_id is not None and pages.history_server is None:
        unknown.append(
            f"where Spark shows the application {found.application_id}: [graph_compiler] history_server is not set"
        )
    elif found.application_id is None and documents.attempts:
        unknown.append("the application in Spark: its driver has not reported one")
    return FailedTask(
        task_id=failed.task_id,
        map_index=failed.shown_index,
        pipeline=task.regions[0].pipeline,
        group=identity.group_path if identity else None,
        operator=found.operator,
        declared_at=None if found.declared_at is None else str(found.declared_at),
        last_seen=found.last_seen,
        cause=_cause(failed, found),
        attempt=_attempt(failed, number, is_permanent=found.is_permanent),
        repetition=repetition(task.regions, documents.finished, task.others),
        links=(_log(failed, number, pages), pages.plan_of_task(failed), *pages.spark(found.application_id)),
        unknown=tuple(unknown),
    )


def _other_task(failed: FailedTry, pages: Pages) -> FailedTask:
    return FailedTask(
        task_id=failed.task_id,
        map_index=failed.shown_index,
        cause=_cause(failed, Diagnosis()),
        attempt=_attempt(failed, failed.try_number, is_permanent=False),
        links=(_log(failed, failed.try_number, pages),),
    )


def _cause(failed: FailedTry, found: Diagnosis) -> str | None:
    if failed.exception is not None and not found.is_reported:
        return _words(failed.exception)
    return found.cause or (_NO_REASON if failed.id is not None else None)


def _attempt(failed: FailedTry, number: int | None, *, is_permanent: bool) -> AirflowTry:
    most = failed.max_tries
    if failed.id is None:  # the run has failed: no task is tried again
        return AirflowTry(try_number=number, is_retried=False)
    has_more = most is not None and failed.try_number is not None and failed.try_number <= most
    # A callback in the Dag processor is not told the state; Airflow retries there what has tries left.
    is_retried = has_more if failed.state is None else failed.state == TaskInstanceState.UP_FOR_RETRY
    return AirflowTry(
        try_number=number,
        tries=None if most is None else most + 1,
        is_retried=is_retried,
        seconds=_delay(failed.task) if is_retried else None,
        why_not=_why_not(failed, is_permanent=is_permanent) if has_more and not is_retried else None,
    )


def _why_not(failed: FailedTry, *, is_permanent: bool) -> str | None:
    if is_permanent or isinstance(failed.exception, AirflowFailException):
        return _PERMANENT
    return None if getattr(failed.task, "retry_policy", None) is None else _POLICY


def _delay(task: Any) -> float | None:
    """Return the seconds before the next try, None if they grow, or a policy decides."""
    if getattr(task, "retry_policy", None) or getattr(task, "retry_exponential_backoff", None):
        return None
    delay = getattr(task, "retry_delay", None)
    return None if delay is None else float(delay.total_seconds())


def _log(failed: FailedTry, number: int | None, pages: Pages) -> Link:
    """Return the log of the try, or the task's page if its number is not known."""
    return pages.task(failed) if number is None else pages.log(failed, number)


def _words(error: BaseException) -> str:
    """Return an error as people read it: ours and Airflow's are sentences, others need their type."""
    text = str(error)
    if isinstance(error, AirflowException) and text:
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """Why a try failed, as its documents say; each is None if they do not. `is_reported`: its driver said why."""

    cause: str | None = None
    is_reported: bool = False
    operator: str | None = None
    declared_at: SourceLocation | None = None
    last_seen: str | None = None
    is_permanent: bool = False
    application_id: str | None = None
    try_number: int | None = None


def diagnose(found: TaskAttempt, regions: Sequence[RegionDescriptor]) -> Diagnosis:
    """Return what documents say about a failure; operators are looked up for where they were declared."""
    failed = causes(found.attempts)
    if not failed:
        return Diagnosis()
    attempt, *_ = failed.values()
    step = attempt.progress.current if attempt.progress else None
    declared = {each.name: each.declared_at for region in regions for each in region.operators}
    failure = attempt.failure
    cause = attempt.reason
    if failure is not None:
        others = ((id, one.failure) for id, one in failed.items() if one is not attempt)
        also = (_also(id, other) for id, other in others if other)
        cause = "\n\n".join([failure.message, *also])
    return Diagnosis(
        cause=cause,
        is_reported=failure is not None,
        operator=failure.operator if failure else None,
        declared_at=(failure.declared_at or declared.get(failure.operator or "")) if failure else None,
        last_seen=_seen(step.operator, declared.get(step.operator)) if step else None,
        is_permanent=attempt.is_final,
        application_id=attempt.application_id,
        try_number=attempt.try_number,
    )


def _also(region_id: RegionId, failure: Failure) -> str:
    where = f"operator '{failure.operator}'" if failure.operator else f"region '{region_id}'"
    return f"{where} failed, too: {failure.message}"


def _seen(operator: str, declared_at: SourceLocation | None) -> str:
    return f"{operator}, declared at {declared_at}" if declared_at else operator


LOCAL = "http://localhost:8080"
"""Where Airflow is if `[api] base_url` is not set, as in its own mails."""
_PLAN = "Plan and attempts"


class TaskOfRun(Protocol):
    """What identifies a task in a run; `map_index` is -1 if it is not mapped."""

    @property
    def dag_id(self) -> str:
        """The Dag."""

    @property
    def run_id(self) -> str:
        """The run."""

    @property
    def task_id(self) -> str:
        """The task."""

    @property
    def map_index(self) -> int:
        """The instance of a mapped task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    """Where browsers reach Airflow, and Spark's history server if there is one."""

    base_url: str | None
    history_server: str | None

    def log(self, task: TaskOfRun, number: int) -> Link:
        """Return the log of a try."""
        return Link(label="Log of this try", url=f"{self._task(task)}?try_number={number}")

    def task(self, task: TaskOfRun) -> Link:
        """Return the page of a task in the run."""
        return Link(label="Task", url=self._task(task))

    def plan_of_task(self, task: TaskOfRun) -> Link:
        """Return the plan of a task's pipeline, with the attempts of this run."""
        return Link(label=_PLAN, url=f"{self._task(task)}/plugin/graph-compiler-region-plan")

    def run(self, dag_id: str, run_id: str) -> Link:
        """Return Airflow's page of a run."""
        return Link(label="Run", url=self._base + run_page(dag_id, run_id))

    def plan_of_run(self, dag_id: str, run_id: str) -> Link:
        """Return the plan of a Dag's pipeline in a run."""
        page = run_page(dag_id, run_id)
        return Link(label=_PLAN, url=f"{self._base}{page}/plugin/graph-compiler-run-plan")

    def spark(self, application_id: str | None) -> Iterator[Link]:
        """Yield the page of an application in the history server, if both are known."""
        links = Links(history_server=self.history_server)
        if (url := links.spark(application_id, None)) is not None:
            yield Link(label="Spark's history server", url=url)

    def _task(self, task: TaskOfRun) -> str:
        return self._base + task_page(task.dag_id, task.run_id, task.task_id, task.map_index)

    @property
    def _base(self) -> str:
        return (self.base_url or LOCAL).rstrip("/")
