"""Tasks of a run that have read rows which were later recomputed with a different result (decision 11).

They are cleared with their downstream tasks, through Airflow's API, if a connection for it is configured. This is
checked after every attempt, from the documents of all attempts, so that if a task dies before its request, a later one
makes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from logging import Logger

from airflow.sdk.bases.operator import BaseOperator
from airflow.sdk.exceptions import AirflowException

from graph_compiler.airflow_backend.installation.airflow_api import AirflowApi, ClearedTask
from graph_compiler.deployment.documents.descriptor import StagedInput, TaskDeploymentDescriptor
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.values_within import values_within
from graph_compiler.deployment.plans.clear_command import clear_command
from graph_compiler.identifiers import RegionId, TaskId, listing
from graph_compiler.staging.results.finished_readers import stale_readers
from graph_compiler.staging.results.manifest_log import ManifestLog
from graph_compiler.staging.store.stores import store_of


def rerun_stale_consumers(
    task: TaskDeploymentDescriptor, operator: BaseOperator, conn_id: str | None, log: Logger
) -> None:
    """Clear the tasks that have read other rows than those of the current results that this task reads or stages.

    Raises AirflowException if a request to Airflow's API fails, or if this task is one of them.
    """
    stale, own = _stale_consumers(task), task.region.region_id
    if others := [region_id for region_id in stale if region_id != own]:
        _rerun(others, task, operator, conn_id, log)
    if own in stale:
        raise AirflowException(
            f"what '{own}' has read was recomputed while it ran, and may have different rows: the "
            "next attempt reads the new ones"
        )


def _rerun(
    stale: Sequence[RegionId],
    task: TaskDeploymentDescriptor,
    operator: BaseOperator,
    conn_id: str | None,
    log: Logger,
) -> None:
    if conn_id is None:
        log.info(
            "graph_compiler: %s finished from rows that have changed since; unless already cleared: %s",
            listing(stale),
            clear_command(task, stale),
        )
        return
    tasks = _with_downstream(stale, task.identity, operator)
    names = listing(each.task_id for each in tasks)
    log.info("graph_compiler: %s run again: their inputs have different rows now", names)
    AirflowApi(conn_id=conn_id, run=task.identity).clear(tasks)


def _stale_consumers(task: TaskDeploymentDescriptor) -> tuple[RegionId, ...]:
    consumers = {
        staged.id: staged.consumers for staged in values_within(task.region, StagedInput)
    } | {result.id: result.consumers for result in task.region.results}
    log = ManifestLog(store=store_of(task.staging_root), layout=task.layout)
    return stale_readers(log, consumers)


def _with_downstream(
    region_ids: Iterable[RegionId], run: RunIdentity, operator: BaseOperator
) -> tuple[ClearedTask, ...]:
    """Return the tasks and their downstream tasks, except the calling one: it waits for them itself, if needed.

    For tasks that are mapped together with this one, only the instances with its map index are included.
    """
    dag = operator.get_dag()
    assert dag is not None, "a region's task belongs to a Dag"
    found: dict[TaskId, None] = {}
    for region_id in region_ids:
        first = run.task_of(region_id)
        behind = dag.get_task(first).get_flat_relative_ids(upstream=False)
        found |= dict.fromkeys([first, *map(TaskId, sorted(behind))])
    mapped, own = operator.get_closest_mapped_task_group(), set(map(run.task_of, region_ids))

    def cleared(task_id: TaskId) -> ClearedTask:
        group = dag.get_task(task_id).get_closest_mapped_task_group()
        is_alike = task_id in own or (mapped is not None and group is mapped)
        return ClearedTask(task_id=task_id, map_index=run.map_index if is_alike else None)

    return tuple(cleared(task_id) for task_id in found if task_id != operator.task_id)
