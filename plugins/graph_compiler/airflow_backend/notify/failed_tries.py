"""The alert of a callback, from what its process knows: of a task or of a run.

                       exception   state   try   documents
task's process         yes         yes     yes   yes
worker was killed      no          no      yes   as far as they got; the callback runs in the Dag processor
failure of the run     no          no      no    of the last try; the same
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from airflow.configuration import conf
from airflow.sdk import TaskInstanceState
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from graph_compiler.airflow_backend.connection_access import open_stores
from graph_compiler.airflow_backend.installation.settings import read_settings
from graph_compiler.airflow_backend.run_identities import identity_of_task
from graph_compiler.airflow_backend.task.task_operator import DeploymentTaskOperator
from graph_compiler.airflow_backend.web.runs.dag_runs import Links, run_page, task_page
from graph_compiler.deployment.documents.descriptor import RegionDescriptor
from graph_compiler.deployment.documents.report import Failure
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.errors import SourceLocation
from graph_compiler.explain.alert import AirflowTry, Alert, FailedTask, Link, repetition
from graph_compiler.identifiers import RegionId
from graph_compiler.staging.attempts.attempt import Attempt
from graph_compiler.staging.attempts.task_attempt import NO_ATTEMPTS, TaskAttempt, causes, read_task_attempt
from graph_compiler.staging.store.stores import store_of

MOST_TASKS = 20
"""The tasks of a run that an alert shows; of more, it has the names."""
LOCAL = "http://localhost:8080"
"""Where Airflow is if `[api] base_url` is not set, as in its own mails."""
_FAILED, _NOT_RUN = "failed", "upstream_failed"
_PLAN = "Plan and attempts"
_PERMANENT = "the failure is permanent, a retry cannot help"
_POLICY = "its retry policy says so"
_NO_REASON = "Airflow lost the process of the task, and does not say why: its worker may have been killed"


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedTry:
    """A try whose callback runs. `id`, and with it `state` and `exception`, are None if only the run has failed.

    It has the attributes of a task instance that identify a run; `map_index` is -1 if the task is not mapped.
    """

    dag_id: str
    run_id: str
    task_id: str
    map_index: int = -1
    task: Any = None
    id: str | None = None
    try_number: int | None = None
    max_tries: int | None = None
    state: object = None
    exception: BaseException | None = None

    @classmethod
    def of(cls, instance: Any, exception: object) -> FailedTry:
        """Return the try of a task instance, as its callback is given it."""
        index = getattr(instance, "map_index", None)
        return cls(
            dag_id=str(instance.dag_id),
            run_id=str(instance.run_id),
            task_id=str(instance.task_id),
            map_index=-1 if index is None else index,
            id=str(instance.id),
            exception=exception if isinstance(exception, BaseException) else None,
            **{name: getattr(instance, name, None) for name in ("task", "try_number", "max_tries", "state")},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What this process knows of the deployment, and what it does not.

    `root` is the staging root; `base_url` and `history_server` are where browsers reach Airflow, and Spark's history
    server.
    """

    root: str | None = None
    base_url: str = LOCAL
    history_server: str | None = None
    unknown: tuple[str, ...] = ()

    @classmethod
    def here(cls) -> Place:
        """Return what this process knows; nothing is raised."""
        unknown: list[str] = []
        base_url = conf.get("api", "base_url", fallback=None)
        if not base_url:
            unknown.append(f"Airflow's address: [api] base_url is not set, links begin with {LOCAL}")
        root = history_server = None
        try:
            settings = read_settings()
            history_server = settings.history_server
            open_stores(settings.staging_root, settings.staging_conn_id)
            root = settings.staging_root
        except Exception as error:  # of settings, connections, and stores
            unknown.append(f"the staging root: {type(error).__name__}: {error}")
        url = (base_url or LOCAL).rstrip("/")
        return cls(root=root, base_url=url, history_server=history_server, unknown=tuple(unknown))

    def pages(self, failed: FailedTry, number: int | None) -> tuple[Link, Link]:
        """Return the log of a try, or the task's page if its number is not known; and the plan with the attempts."""
        task = self.base_url + task_page(failed.dag_id, failed.run_id, failed.task_id, failed.map_index)
        log = Link(label="Log of this try", url=f"{task}?try_number={number}")
        plan = Link(label=_PLAN, url=f"{task}/plugin/graph-compiler-region-plan")
        return (Link(label="Task", url=task) if number is None else log), plan

    def pages_of_run(self, dag_id: str, run_id: str) -> tuple[Link, Link]:
        """Return Airflow's page of a run, and the plan of the Dag's pipeline in it."""
        run = self.base_url + run_page(dag_id, run_id)
        return Link(label="Run", url=run), Link(label=_PLAN, url=f"{run}/plugin/graph-compiler-run-plan")

    def read(self, failed: FailedTry, identity: RunIdentity) -> TaskAttempt:
        """Return the attempts of a try, by default of its task's last one; raises what stores and documents raise."""
        if self.root is None:
            return NO_ATTEMPTS
        ids = [region.region_id for region in failed.task.regions]
        return read_task_attempt(store_of(self.root), StagingLayout(root=self.root, identity=identity), ids, failed.id)


def alert_of(context: Mapping[str, Any]) -> Alert:
    """Return the alert of a callback; what cannot be known in its process is in `unknown`, and no error is raised."""
    try:
        place = Place.here()
        if "reason" in context or context.get("ti") is None:
            return _alert_of_run(context, place)
        failed = FailedTry.of(context["ti"], context.get("exception"))
        tasks = (_failed_task(failed, place),)
        return Alert(dag_id=failed.dag_id, run_id=failed.run_id, tasks=tasks, unknown=place.unknown)
    except Exception as error:  # people must hear of the failure, whatever is wrong with the alert
        return _bare_alert(context, error)


def _alert_of_run(context: Mapping[str, Any], place: Place) -> Alert:
    dag = context.get("dag")
    dag_id = str(getattr(dag, "dag_id", "unknown"))
    run_id = str(context.get("run_id") or getattr(context.get("dag_run"), "run_id", "unknown"))
    tasks = {str(task.task_id): task for task in getattr(dag, "tasks", ())}
    unknown = list(place.unknown)
    states: dict[tuple[str, int], str] = {}
    try:
        states = dict(_states(context, dag_id, run_id, tasks))
    except Exception as error:  # of Airflow's API; without a task, there is no way to ask it
        unknown.append(
            "which tasks failed, as Airflow sees it: those with a failed attempt in the staging root are shown "
            f"({type(error).__name__}: {error})"
        )
        lasts = (FailedTry(dag_id=dag_id, run_id=run_id, task_id=id, task=task) for id, task in tasks.items())
        states = {(last.task_id, -1): _FAILED for last in lasts if _has_failed(last, place)}
    found = [
        FailedTry(dag_id=dag_id, run_id=run_id, task_id=id, map_index=index, task=tasks[id])
        for (id, index), state in states.items()
        if state == _FAILED
    ]
    is_ours = any(isinstance(task, DeploymentTaskOperator) for task in tasks.values())
    return Alert(
        dag_id=dag_id,
        run_id=run_id,
        reason=str(context.get("reason") or "unknown"),
        tasks=tuple(_failed_task(one, place) for one in found[:MOST_TASKS]),
        others=tuple(one.task_id for one in found[MOST_TASKS:]),
        not_run=sum(state == _NOT_RUN for state in states.values()),
        links=place.pages_of_run(dag_id, run_id)[: 1 + is_ours],
        unknown=tuple(unknown),
    )


def _states(
    context: Mapping[str, Any], dag_id: str, run_id: str, tasks: Mapping[str, Any]
) -> Iterator[tuple[tuple[str, int], str]]:
    """Yield the states of a run's tasks, as Airflow answers: the index of a mapped one follows its id."""
    answer = context["ti"].get_task_states(dag_id=dag_id, run_ids=[run_id])
    for name, state in answer.get(run_id, {}).items():
        task_id, _, index = str(name).rpartition("_")
        if name in tasks:
            yield (name, -1), str(getattr(state, "value", state))
        elif task_id in tasks and index.isdecimal():
            yield (task_id, int(index)), str(getattr(state, "value", state))


def _has_failed(last: FailedTry, place: Place) -> bool:
    """Whether the last try of a task of ours, outside of mapped groups, is known to have failed."""
    if not isinstance(last.task, DeploymentTaskOperator):
        return False
    try:
        return bool(causes(place.read(last, identity_of_task(last.task.regions[0], last)).attempts))
    except Exception:  # what cannot be read is not known to have failed
        return False


def _bare_alert(context: Mapping[str, Any], error: Exception) -> Alert:
    instance, dag, cause = context.get("ti"), context.get("dag"), context.get("exception")
    alert = Alert(
        dag_id=str(getattr(instance, "dag_id", None) or getattr(dag, "dag_id", "unknown")),
        run_id=str(getattr(instance, "run_id", None) or context.get("run_id") or "unknown"),
        reason=str(context.get("reason") or "unknown"),
        unknown=(f"everything else: {type(error).__name__}: {error}",),
    )
    if instance is None or cause is None:
        return alert
    bare = replace(FailedTry.of(instance, cause), task=None)
    return replace(alert, reason=None, tasks=(_failed_task(bare, Place()),))


def _failed_task(failed: FailedTry, place: Place) -> FailedTask:
    """Return what an alert shows of a try: of a task that is not ours, its error, its attempt and its log."""
    if not isinstance(failed.task, DeploymentTaskOperator):
        log, _ = place.pages(failed, failed.try_number)
        return _shown(failed, failed.try_number, Diagnosis(), (log,))
    regions = failed.task.regions
    unknown: list[str] = []
    documents, group = NO_ATTEMPTS, None
    try:
        identity = identity_of_task(regions[0], failed)
        group = identity.group_path
        documents = place.read(failed, identity)
    except Exception as error:  # an alert shows what it can: of stores, connections, and documents of other versions
        unknown.append(f"the documents of the attempt: {_words(error)}")
    found = diagnose(documents, regions)
    number, application_id = (found.attempt.try_number, found.attempt.application_id) if found.attempt else (None, None)
    number = failed.try_number or number
    links: tuple[Link, ...] = place.pages(failed, number)
    if (spark := Links(history_server=place.history_server).spark(application_id, None)) is not None:
        links += (Link(label="Spark's history server", url=spark),)
    elif application_id is not None:
        unknown.append(
            f"where Spark shows the application {application_id}: [graph_compiler] history_server is not set"
        )
    elif documents.attempts:
        unknown.append("the application in Spark: its driver has not reported one")
    return replace(
        _shown(failed, number, found, links),
        pipeline=regions[0].pipeline,
        group=group,
        repetition=repetition(regions, documents.finished, failed.task.others),
        unknown=tuple(unknown),
    )


def _shown(failed: FailedTry, number: int | None, found: Diagnosis, links: tuple[Link, ...]) -> FailedTask:
    cause = found.cause or (_NO_REASON if failed.id is not None else None)
    if failed.exception is not None and not (found.attempt and found.attempt.failure):  # its driver has not said why
        cause = _words(failed.exception)
    return FailedTask(
        task_id=failed.task_id,
        map_index=failed.map_index if failed.map_index >= 0 else None,
        operator=found.operator,
        declared_at=None if found.declared_at is None else str(found.declared_at),
        last_seen=found.last_seen,
        cause=cause,
        attempt=_attempt(failed, number, is_permanent=found.attempt is not None and found.attempt.is_final),
        links=links,
    )


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


def _words(error: BaseException) -> str:
    """Return an error as people read it: ours and Airflow's are sentences, others need their type."""
    text = str(error)
    if isinstance(error, AirflowException) and text:
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """Why a try failed, as its documents say: the attempt that is the cause; each is None if they do not."""

    attempt: Attempt | None = None
    cause: str | None = None
    operator: str | None = None
    declared_at: SourceLocation | None = None
    last_seen: str | None = None


def diagnose(found: TaskAttempt, regions: Sequence[RegionDescriptor]) -> Diagnosis:
    """Return what documents say about a failure; operators are looked up for where they were declared."""
    failed = causes(found.attempts)
    if not failed:
        return Diagnosis()
    attempt, *_ = failed.values()
    declared = {each.name: each.declared_at for region in regions for each in region.operators}
    last_seen = None
    if attempt.progress and (step := attempt.progress.current):
        at = declared.get(step.operator)
        last_seen = f"{step.operator}, declared at {at}" if at else step.operator
    if (failure := attempt.failure) is None:
        return Diagnosis(attempt=attempt, cause=attempt.reason, last_seen=last_seen)
    also = (_also(id, one.failure) for id, one in failed.items() if one is not attempt and one.failure)
    return Diagnosis(
        attempt=attempt,
        cause="\n\n".join([failure.message, *also]),
        operator=failure.operator,
        declared_at=failure.declared_at or declared.get(failure.operator or ""),
        last_seen=last_seen,
    )


def _also(region_id: RegionId, failure: Failure) -> str:
    where = f"operator '{failure.operator}'" if failure.operator else f"region '{region_id}'"
    return f"{where} failed, too: {failure.message}"
