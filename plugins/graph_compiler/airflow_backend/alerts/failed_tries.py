"""A failed try as a callback of Airflow knows it, and the failed task that an alert shows.

                       exception   state   try   documents
task's process         yes         yes     yes   yes
worker was killed      no          no      yes   as far as they got; the callback runs in the Dag processor
failure of the run     no          no      no    of the last try; the same
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airflow.sdk import TaskInstanceState
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from graph_compiler.airflow_backend.alerts.pages import Pages
from graph_compiler.airflow_backend.alerts.try_documents import (
    NO_DOCUMENTS,
    Diagnosis,
    TryDocuments,
    diagnose,
    read_try,
)
from graph_compiler.airflow_backend.run_identities import identity_of_task
from graph_compiler.airflow_backend.task.task_operator import DeploymentTaskOperator
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.explain.alerts.alert import Attempt, FailedTask, Link, Repetition
from graph_compiler.explain.alerts.repetition import repetition
from graph_compiler.staging.store.stores import store_of

_PERMANENT = "the failure is permanent, a retry cannot help"
_POLICY = "its retry policy says so"
_NO_REASON = (
    "Airflow lost the process of the task, and does not say why: its worker may have been killed"
)


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
    documents, identity = NO_DOCUMENTS, None
    try:
        identity = identity_of_task(failed.task.regions[0], failed)
        if root is not None:
            documents = _documents(failed, failed.task, root, identity)
    except Exception as error:  # an alert shows what it can: of stores, connections, and documents of other versions
        unknown.append(f"the documents of the attempt: {_words(error)}")
    return _task_of_pipeline(failed, failed.task, identity, documents, pages, unknown)


def _documents(
    failed: FailedTry, task: DeploymentTaskOperator, root: str, identity: RunIdentity
) -> TryDocuments:
    layout = StagingLayout(root=root, identity=identity)
    return read_try(store_of(root), layout, task.regions, failed.id)


def _task_of_pipeline(  # the parts of one value
    failed: FailedTry,
    task: DeploymentTaskOperator,
    identity: RunIdentity | None,
    documents: TryDocuments,
    pages: Pages,
    unknown: list[str],
) -> FailedTask:
    found = diagnose(documents, task.regions)
    number = failed.try_number or found.try_number
    if found.application_id is not None and pages.history_server is None:
        unknown.append(
            f"where Spark shows the application {found.application_id}: [graph_compiler] history_server is not set"
        )
    elif found.application_id is None and documents.executions:
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
        repetition=_repetition(task, documents),
        links=(
            _log(failed, number, pages),
            pages.plan_of_task(failed),
            *pages.spark(found.application_id),
        ),
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


def _attempt(failed: FailedTry, number: int | None, *, is_permanent: bool) -> Attempt:
    most = failed.max_tries
    if failed.id is None:  # the run has failed: no task is tried again
        return Attempt(try_number=number, is_retried=False)
    has_more = most is not None and failed.try_number is not None and failed.try_number <= most
    # A callback in the Dag processor is not told the state; Airflow retries there what has tries left.
    is_retried = (
        has_more if failed.state is None else failed.state == TaskInstanceState.UP_FOR_RETRY
    )
    return Attempt(
        try_number=number,
        tries=None if most is None else most + 1,
        is_retried=is_retried,
        seconds=_delay(failed.task) if is_retried else None,
        why_not=_why_not(failed, is_permanent=is_permanent)
        if has_more and not is_retried
        else None,
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


def _repetition(task: DeploymentTaskOperator, documents: TryDocuments) -> Repetition:
    return repetition(task.regions, documents.finished, task.others)


def _log(failed: FailedTry, number: int | None, pages: Pages) -> Link:
    """Return the log of the try, or the task's page if its number is not known."""
    return pages.task(failed) if number is None else pages.log(failed, number)


def _words(error: BaseException) -> str:
    """Return an error as people read it: ours and Airflow's are sentences, others need their type."""
    text = str(error)
    if isinstance(error, AirflowException) and text:
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
