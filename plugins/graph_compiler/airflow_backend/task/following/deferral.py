"""Wait for an application without a worker's slot: the task defers, and its try continues after the application's end.

submit ─▶ id in the task state store ─▶ defer ┄┄┄ the triggerer asks the cluster ┄┄┄▶ the same try reads the reports

    the task is marked, cleared or removed      the trigger ends the application
    a timeout, or the trigger fails             the try that Airflow resumes in order to fail ends it
    it was cleared while no triggerer ran       the next try ends it, before it submits another one
    the triggerer restarts                      another one asks; the application does not notice
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import Context
from airflow.sdk.configuration import conf
from airflow.sdk.exceptions import TaskDeferred

from graph_compiler.airflow_backend.task.submission.submit_target import ExecutionTargetError
from graph_compiler.deployment.targets.execution_target import DriverPlace

_DEFERRED = "graph_compiler_deferred"
"""The id of the application for which a trigger waits, or waited when its task was cleared."""
_POLL_SECONDS = 10.0
_LEAST = timedelta(seconds=1)


def is_deferrable(place: DriverPlace, wanted: bool | None, task_id: str) -> bool:
    """Whether a task waits in the triggerer; None is what Airflow's `[operators] default_deferrable` says.

    Raises ExecutionTargetError if that is wanted for this pipeline, and its driver is no application of a cluster.
    """
    if place.is_tracked:
        return bool(
            conf.getboolean("operators", "default_deferrable", fallback=False)
            if wanted is None
            else wanted
        )
    if wanted:
        raise ExecutionTargetError(
            f"task '{task_id}': option execution.deferrable is true, and its driver is a process of the Airflow "
            "worker, which has to stay\n"
            "  allowed: deploy mode cluster on YARN or Kubernetes; Spark standalone refuses Python applications there"
        )
    return False


def was_deferred(context: Context, application: str) -> bool:
    """Whether a trigger has waited for an application, and its try did not continue: a person has cleared the task."""
    store = context.get("task_state_store")
    return store is not None and store.get(_DEFERRED) == application


def forget_deferral(context: Context) -> None:
    """Note that a try continues whose application a trigger has waited for."""
    context["task_state_store"].delete(_DEFERRED)


def defer(
    operator: SparkSubmitOperator,
    application: str,
    staging: tuple[str, str | None],
    context: Context,
) -> None:
    """Leave an application to the triggerer; `staging` is the root with its connection.

    Raises TaskDeferred; returns if Airflow has no task state store, by which it would be found again.
    """
    if (store := context.get("task_state_store")) is None:
        return
    # Not before: it costs time, and the modules of tasks are imported when Dags are parsed.
    from graph_compiler.airflow_backend.task.following.application_trigger import (
        ApplicationTrigger,
    )

    store.set(_DEFERRED, application)
    root, conn_id = staging
    trigger = ApplicationTrigger(
        application=application,
        conn_id=operator._conn_id,
        deploy_mode=operator._deploy_mode,
        descriptors=list(operator.application_args or ()),
        staging_root=root,
        staging_conn_id=conn_id,
        poll_interval=_POLL_SECONDS,
    )
    timeout = _time_left(operator, context)
    raise TaskDeferred(trigger=trigger, method_name="execute_complete", timeout=timeout)


def _time_left(operator: SparkSubmitOperator, context: Context) -> timedelta | None:
    limit: timedelta | None = operator.execution_timeout
    if limit is None:
        return None
    started: datetime = context["ti"].start_date
    return max(_LEAST, limit - (datetime.now(UTC) - started))
