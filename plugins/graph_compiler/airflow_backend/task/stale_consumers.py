"""Tasks of a run that have read rows which were later recomputed with a different result (decision 11).

They are cleared with their downstream tasks, through Airflow's API, if a connection for it is configured. This is
checked after every attempt, from the documents of all attempts, so that if a task dies before its request, a later one
makes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from airflow.sdk.bases.operator import BaseOperator
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from graph_compiler.airflow_backend.installation.airflow_api import AirflowApi, ClearedTask
from graph_compiler.airflow_backend.task.task_try import TaskTry
from graph_compiler.deployment.documents.descriptor import RegionDescriptor, StagedInput
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.wire import values_within
from graph_compiler.deployment.plans.how_to_clear import how_to_clear
from graph_compiler.deployment.plans.plan_record import PlanRecord
from graph_compiler.errors import StaleResultError
from graph_compiler.identifiers import RegionId, TaskId, TaskName, listing
from graph_compiler.staging.results.manifest_log import ManifestLog
from graph_compiler.staging.results.plan_log import check_inputs, record_plan
from graph_compiler.staging.results.release import stale_readers


def rerun_stale_consumers(
    task: TaskTry, others: Iterable[RegionDescriptor], operator: BaseOperator, conn_id: str | None
) -> tuple[RegionId, ...]:
    """Clear the tasks that have read other rows than those of the current results that this task reads or stages.

    Returns the regions of this task that have; raises AirflowException if a request to Airflow's API fails.
    """
    stale, own = _stale_consumers(task), {region.region_id for region in task.regions}
    if stale_others := [region_id for region_id in stale if region_id not in own]:
        known = {region.region_id: region.task_name for region in others}
        _rerun([known.get(each, TaskName(each)) for each in stale_others], task, operator, conn_id)
    return tuple(region_id for region_id in stale if region_id in own)


def check_reads(stale: Sequence[RegionId]) -> None:
    """Raise AirflowException if regions of this task have read rows that were recomputed since."""
    if stale:
        raise AirflowException(
            f"what {listing(repr(each) for each in stale)} read was recomputed while this task ran, and may have "
            "different rows: the next attempt reads the new ones"
        )


def _rerun(names: Sequence[TaskName], task: TaskTry, operator: BaseOperator, conn_id: str | None) -> None:
    stale = tuple(dict.fromkeys(names))
    if conn_id is None:
        words = f"{listing(stale)} finished from rows that have changed since; unless already cleared: "
        operator.log.info("%s", task.log_line(words + how_to_clear(task.first, stale)))
        return
    run = task.first.identity
    tasks = _with_downstream(stale, run, operator)
    cleared = listing(each.task_id for each in tasks)
    words = f"{cleared} run again: their inputs have different rows now"
    operator.log.info("%s", task.log_line(words))
    AirflowApi(conn_id=conn_id, run=run).clear(tasks)


def _stale_consumers(task: TaskTry) -> tuple[RegionId, ...]:
    consumers = {
        staged.id: staged.consumers for region in task.regions for staged in values_within(region, StagedInput)
    } | {result.id: result.consumers for region in task.regions for result in region.results}
    return stale_readers(ManifestLog(store=task.store, layout=task.layout), consumers)


def _with_downstream(names: Sequence[TaskName], run: RunIdentity, operator: BaseOperator) -> tuple[ClearedTask, ...]:
    """Return the tasks and their downstream tasks, except the calling one: it waits for them itself, if needed.

    For tasks that are mapped together with this one, only the instances with its map index are included.
    """
    dag = operator.get_dag()
    assert dag is not None, "a deployment task belongs to a Dag"
    found: dict[TaskId, None] = {}
    for first in map(run.task_id, names):
        behind = dag.get_task(first).get_flat_relative_ids(upstream=False)
        found |= dict.fromkeys([first, *map(TaskId, sorted(behind))])
    mapped, own = operator.get_closest_mapped_task_group(), set(map(run.task_id, names))

    def cleared(task_id: TaskId) -> ClearedTask:
        group = dag.get_task(task_id).get_closest_mapped_task_group()
        is_alike = task_id in own or (mapped is not None and group is mapped)
        return ClearedTask(task_id=task_id, map_index=run.map_index if is_alike else None)

    return tuple(cleared(task_id) for task_id in found if task_id != operator.task_id)


def check_plan(task: TaskTry, plan: PlanRecord) -> None:
    """Record the plan; raises AirflowFailException if another plan computed an input of the task."""
    log = ManifestLog(store=task.store, layout=task.layout)
    record_plan(log.store, task.layout, plan)
    own = {region.region_id for region in task.regions}
    try:
        for execution in task.executions:
            check_inputs(log, execution, plan, own=own)
    except StaleResultError as error:
        raise AirflowFailException(f"pipeline '{task.pipeline}': {error}") from None
