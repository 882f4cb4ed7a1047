"""Which tasks of a run must run again: those that did not finish, and those whose staged rows are lost, if needed."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import chain

from graph_compiler.deployment.documents.run_identity import NOT_MAPPED
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import RegionId, TaskName
from graph_compiler.run_client.run_status import RunStatus, TaskStatus
from graph_compiler.staging.executions.executions import regions_of, task_names
from graph_compiler.staging.gc.inventory import StagedResult, StagedRun
from graph_compiler.staging.gc.survey import survey_run
from graph_compiler.staging.store.staging_store import StagingStore

_REMOVED = "removed"
"""Airflow's state of a task that the Dag no longer has."""


def unfinished(run: RunStatus) -> tuple[TaskStatus, ...]:
    """Return the tasks of a run that is over which have not finished: failed, and not run for that.

    What a branch has skipped is among them. Airflow skips it again, since the branch's choice is kept.
    """
    return tuple(
        task
        for task in run.tasks
        if task.state is not ExecutionState.FINISHED and task.airflow_state != _REMOVED
    )


def with_lost_results(
    store: StagingStore, layouts: Iterable[StagingLayout], run: RunStatus
) -> tuple[TaskStatus, ...]:
    """Return the unfinished tasks of a run, and the finished ones whose lost rows these read."""
    again = set(unfinished(run))
    for layout in layouts:
        identity = layout.identity
        own = {
            name: task
            for task in run.tasks
            if task.map_index in (identity.map_index, NOT_MAPPED)
            and (name := identity.task_name(task.task_id)) is not None
        }
        names = {name for name, task in own.items() if task in again}
        again |= {own[name] for name in _lost(store, layout, names) if name in own}
    return tuple(task for task in run.tasks if task in again)


def _lost(
    store: StagingStore, layout: StagingLayout, names: Collection[TaskName]
) -> frozenset[TaskName]:
    """Return the tasks whose results are lost and read by tasks that run again, or by such tasks themselves."""
    if not names:
        return frozenset()
    run = survey_run(store, layout)
    task_of = {
        region_id: task_names(store, layout, [region_id])[0]
        for region_id in regions_of(store, layout)
    }
    lost = [result for result in run.results if _is_lost(run, result)]
    again = set(names)

    def is_read_again(consumer: RegionId) -> bool:
        return task_of.get(consumer) is None or task_of[consumer] in again

    while True:
        found = {
            task_of[result.owner]
            for result in lost
            if result.owner in task_of and any(map(is_read_again, result.consumers))
        }
        if found <= again:
            return frozenset(chain(again)) - frozenset(names)
        again |= found


def _is_lost(run: StagedRun, result: StagedResult) -> bool:
    """Whether the data of a result's last epoch is gone, and no rule of this program has removed it."""
    if not result.epochs:
        return False
    last = result.epochs[-1]
    is_there = any(
        folder.owner == result.id and folder.name == last.folder and folder.bytes >= last.bytes
        for folder in run.data
    )
    return last.released is None and not is_there
