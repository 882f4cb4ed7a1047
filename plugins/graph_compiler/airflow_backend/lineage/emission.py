"""Sends OpenLineage's events of attempts, through Airflow's provider: its transport, its namespace, its policy."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast

from airflow.sdk import get_current_context

from graph_compiler.airflow_backend.lineage.task_lineage import places_of
from graph_compiler.staging.attempts.attempt_lineage import attempt_lineage
from graph_compiler.staging.attempts.attempt_metrics import EndedRegion
from graph_compiler.staging.results.manifest_log import ManifestLog
from graph_compiler.staging.store.stores import store_of

if TYPE_CHECKING:
    from openlineage.client.event_v2 import RunEvent

    from graph_compiler.airflow_backend.lineage.events import JobRun


def are_wanted() -> bool:
    """Whether Airflow's provider for OpenLineage is installed, and has somewhere to send to."""
    if find_spec("airflow.providers.openlineage") is None:
        return False
    from airflow.providers.openlineage.api import is_openlineage_active

    return bool(is_openlineage_active())


def events_of(ended: Sequence[EndedRegion]) -> tuple[RunEvent, ...]:
    """Return the events of attempts that are not reported yet; none if the policy for this task is to send none.

    It reads the context of the task that is running in this process: the triggerer has none, and sends none.
    """
    from airflow.providers.openlineage.plugins import macros
    from airflow.providers.openlineage.utils.emission_policy import resolve_task_emission_policy

    from graph_compiler.airflow_backend.lineage.events import JobRun, attempt_events

    try:
        context = get_current_context()
    except RuntimeError:
        return ()
    instance, operator = context["ti"], cast(Any, context["task"])
    policy = resolve_task_emission_policy(operator=operator, dag_id=instance.dag_id, task_id=instance.task_id)
    if not (policy.emit and policy.extract_operator_metadata):
        return ()
    root = JobRun(
        namespace=macros.lineage_root_job_namespace(instance),
        name=macros.lineage_root_job_name(instance),
        run_id=macros.lineage_root_run_id(instance),
    )
    places = places_of(operator)
    events: list[RunEvent] = []
    for region in ended:
        task, region_id = region.execution, region.execution.region.region_id
        log = ManifestLog(store=store_of(task.staging_root), layout=task.layout)
        for attempt in region.attempts:
            if attempt.was_reached and not attempt.is_reported and region_id in places:
                report = attempt.execution.report
                lineage = attempt_lineage(places[region_id], report, log)
                parent = _try(instance, attempt.execution.try_number)
                events += attempt_events(attempt, region_id, lineage, parent, root)
    return tuple(events)


def send(events: Sequence[RunEvent]) -> None:
    """Send events; the provider reports what it could not send."""
    from airflow.providers.openlineage.api import emit

    for event in events:
        emit(event)


def _try(instance: Any, number: int | None) -> JobRun:
    """Return a try of this task: an attempt that died belongs to an earlier one."""
    from airflow.providers.openlineage.plugins import macros

    from graph_compiler.airflow_backend.lineage.events import JobRun

    own = instance if number is None else instance.model_copy(update={"try_number": number})
    return JobRun(
        namespace=macros.lineage_job_namespace(),
        name=macros.lineage_job_name(instance),
        run_id=macros.lineage_run_id(own),
    )
