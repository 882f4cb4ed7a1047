"""The identity of an Airflow run, from a task instance, the address of a page, or a name; made only here."""

from __future__ import annotations

from typing import Any

from airflow.sdk.exceptions import AirflowFailException

from graph_compiler.deployment.documents.descriptor import RegionDescriptor
from graph_compiler.deployment.documents.run_identity import NOT_MAPPED, RunIdentity, group_path
from graph_compiler.errors import StagingError
from graph_compiler.identifiers import TaskId


def identity_of_task(region: RegionDescriptor, instance: Any) -> RunIdentity:
    """Return the run of a region's task instance; raises AirflowFailException if the task has a different id."""
    try:
        path = group_path(TaskId(str(instance.task_id)), region.task_name)
    except StagingError as error:
        raise AirflowFailException(f"pipeline '{region.pipeline}': {error}") from None
    index = instance.map_index
    return RunIdentity(
        dag_id=str(instance.dag_id),
        group_path=path,
        pipeline=region.pipeline,
        run_id=str(instance.run_id),
        map_index=NOT_MAPPED if index is None else index,
    )


def identity_of_page(
    dag_id: str, run_id: str, pipeline: str | None, *, group: str = "", map_index: int = NOT_MAPPED
) -> RunIdentity:
    """Return the run of a page of Airflow's UI; `pipeline` is the one in the Dag's plan, None without a plan."""
    return RunIdentity(
        dag_id=dag_id,
        group_path=group,
        pipeline=pipeline or dag_id,
        run_id=run_id,
        map_index=max(map_index, NOT_MAPPED),
    )


def identity_of_plan(pipeline: str, run_id: str) -> RunIdentity:
    """Return a run of the pipeline's own Dag that has not begun: `run_id` is a name for what is not known yet."""
    return RunIdentity.own(pipeline, run_id)
