"""The alert of a callback: of a task, in its own process or in the Dag processor, or of a run, in the Dag processor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from airflow.configuration import conf

from graph_compiler.airflow_backend.alerts.failed_tries import LOCAL, FailedTry, Pages, failed_task
from graph_compiler.airflow_backend.connection_access import open_stores
from graph_compiler.airflow_backend.installation.settings import read_settings
from graph_compiler.airflow_backend.run_identities import identity_of_task
from graph_compiler.airflow_backend.task.task_operator import DeploymentTaskOperator
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.explain.alerts.alert import Alert
from graph_compiler.staging.attempts.task_attempt import causes, read_task_attempt
from graph_compiler.staging.store.stores import store_of

MOST_TASKS = 20
"""The tasks of a run that an alert shows; of more, it has the names."""
_FAILED, _NOT_RUN = "failed", "upstream_failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What this process knows of the deployment, and what it does not."""

    root: str | None
    pages: Pages
    unknown: tuple[str, ...]


def alert_of(context: Mapping[str, Any]) -> Alert:
    """Return the alert of a callback; what cannot be known in its process is in `unknown`, and no error is raised."""
    try:
        place = _place()
        if "reason" in context or context.get("ti") is None:
            return _alert_of_run(context, place)
        return _alert_of_task(context, place)
    except Exception as error:  # people must hear of the failure, whatever is wrong with the alert
        return _bare_alert(context, error)


def _place() -> Place:
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
    return Place(root=root, pages=Pages(base_url=base_url, history_server=history_server), unknown=tuple(unknown))


def _alert_of_task(context: Mapping[str, Any], place: Place) -> Alert:
    error = context.get("exception")
    failed = FailedTry.of(context["ti"], error if isinstance(error, BaseException) else None)
    return Alert(
        dag_id=failed.dag_id,
        run_id=failed.run_id,
        tasks=(failed_task(failed, place.root, place.pages),),
        unknown=place.unknown,
    )


def _alert_of_run(context: Mapping[str, Any], place: Place) -> Alert:
    dag = context.get("dag")
    dag_id, run_id = str(getattr(dag, "dag_id", "unknown")), _run_id(context)
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
        states = dict(_states_of_attempts(dag_id, run_id, tasks, place.root))
    found = [
        FailedTry(dag_id=dag_id, run_id=run_id, task_id=id, map_index=index, task=tasks[id])
        for (id, index), state in states.items()
        if state == _FAILED
    ]
    is_ours = any(isinstance(task, DeploymentTaskOperator) for task in tasks.values())
    plan = (place.pages.plan_of_run(dag_id, run_id),) if is_ours else ()
    return Alert(
        dag_id=dag_id,
        run_id=run_id,
        reason=str(context.get("reason") or "unknown"),
        tasks=tuple(failed_task(one, place.root, place.pages) for one in found[:MOST_TASKS]),
        others=tuple(one.task_id for one in found[MOST_TASKS:]),
        not_run=sum(state == _NOT_RUN for state in states.values()),
        links=(place.pages.run(dag_id, run_id), *plan),
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


def _states_of_attempts(
    dag_id: str, run_id: str, tasks: Mapping[str, Any], root: str | None
) -> Iterator[tuple[tuple[str, int], str]]:
    """Yield the tasks, outside of mapped groups, whose last attempt has failed."""
    for task_id, task in tasks.items():
        if root is None or not isinstance(task, DeploymentTaskOperator):
            continue
        last = FailedTry(dag_id=dag_id, run_id=run_id, task_id=task_id, map_index=-1, task=task)
        try:
            layout = StagingLayout(root=root, identity=identity_of_task(task.regions[0], last))
            ids = [region.region_id for region in task.regions]
            if causes(read_task_attempt(store_of(root), layout, ids, None).attempts):
                yield (task_id, -1), _FAILED
        except Exception:  # what cannot be read is not known to have failed
            continue


def _run_id(context: Mapping[str, Any]) -> str:
    return str(context.get("run_id") or getattr(context.get("dag_run"), "run_id", "unknown"))


def _bare_alert(context: Mapping[str, Any], error: Exception) -> Alert:
    instance, dag = context.get("ti"), context.get("dag")
    alert = Alert(
        dag_id=str(getattr(instance, "dag_id", None) or getattr(dag, "dag_id", "unknown")),
        run_id=str(getattr(instance, "run_id", None) or context.get("run_id") or "unknown"),
        reason=str(context.get("reason") or "unknown"),
        unknown=(f"everything else: {type(error).__name__}: {error}",),
    )
    cause = context.get("exception")
    if instance is None or cause is None:
        return alert
    failed = FailedTry.of(instance, cause)
    bare = replace(failed, task=None)
    pages = Pages(base_url=None, history_server=None)
    return replace(alert, reason=None, tasks=(failed_task(bare, None, pages),))
