"""Which plan a run's tasks are of: a pipeline may be deployed again while it runs."""

from __future__ import annotations

from airflow.sdk.exceptions import AirflowFailException

from graph_compiler.airflow_backend.task.task_try import TaskTry
from graph_compiler.deployment.plans.plan_record import PlanRecord
from graph_compiler.errors import StaleResultError
from graph_compiler.staging.results.manifest_log import ManifestLog
from graph_compiler.staging.results.plan_log import check_inputs, record_plan


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
