"""Which plan a run's tasks are of: a pipeline may be deployed again while it runs."""

from __future__ import annotations

from airflow.sdk.exceptions import AirflowFailException

from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.plans.plan_record import PlanRecord
from graph_compiler.errors import StaleResultError
from graph_compiler.staging.results.manifest_log import ManifestLog
from graph_compiler.staging.results.plan_log import check_inputs, record_plan
from graph_compiler.staging.store.stores import store_of


def check_plan(task: TaskDeploymentDescriptor, plan: PlanRecord) -> None:
    """Record the plan; raises AirflowFailException if another plan computed an input of the task."""
    log = ManifestLog(store=store_of(task.staging_root), layout=task.layout)
    record_plan(log.store, task.layout, plan)
    try:
        check_inputs(log, task, plan)
    except StaleResultError as error:
        raise AirflowFailException(f"pipeline '{task.region.pipeline}': {error}") from None
