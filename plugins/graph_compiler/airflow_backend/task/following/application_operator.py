"""An operator whose application may outlive its process: found again, waited for elsewhere, and ended."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.sdk import Context
from airflow.sdk.bases.operator import TRIGGER_FAIL_REPR
from airflow.sdk.configuration import conf
from airflow.sdk.exceptions import AirflowFailException, TaskDeferred

from graph_compiler.airflow_backend.connection_access import open_stores
from graph_compiler.airflow_backend.provider.submit_operator import SubmitOperator
from graph_compiler.airflow_backend.provider.submit_target import ExecutionTargetError
from graph_compiler.airflow_backend.task.driver_end import ask_streams, stopping, wait_for_reports
from graph_compiler.airflow_backend.task.execution_files import is_done
from graph_compiler.airflow_backend.task.following.tracking import (
    Application,
    continued,
    is_unfinished,
    store_application,
    unfinished,
    why_elsewhere,
)
from graph_compiler.airflow_backend.task.submitting import Preparation
from graph_compiler.airflow_backend.task.task_try import TaskTry
from graph_compiler.deployment.describe.airflow_versions import has_all
from graph_compiler.deployment.targets.execution_target import DriverPlace
from graph_compiler.errors import SecretError
from graph_compiler.projects.code_archive import CodeArchiveError

_LEFT_TO_A_KILL = 3.0
"""Seconds for a driver elsewhere to end by itself: Airflow's supervisor kills this process five after it asks."""


class ApplicationOperator(SubmitOperator):
    """Follows applications; a subclass says which executions a try has, and prepares them.

    `staging` is the staging root, and Airflow's connection to it. `defers` is what the pipeline says of the triggerer.
    """

    staging: tuple[str, str | None]
    defers: bool | None = None
    is_killed = False
    _submits: TaskTry | None = None
    _is_continued = False
    _waits_in_triggerer = False

    def current_try(self, context: Context) -> TaskTry:
        """Return the executions of this try."""
        raise NotImplementedError

    def prepare(self, task: TaskTry) -> Preparation:
        """Make a task ready to be submitted."""
        raise NotImplementedError

    def prepared(self, task: TaskTry) -> Preparation:
        """Prepare a task, and learn who will wait for its application."""
        prepared = self.prepare(task)
        self._submits = task
        deferrable = is_deferrable(prepared.plan.place, self.defers, task.task_name)
        self._waits_in_triggerer = deferrable and not self._is_continued
        return prepared

    @contextmanager
    def explained(self, task: TaskTry) -> Iterator[None]:
        """Within, what a retry cannot mend fails the task for good."""
        try:
            yield
        except (CodeArchiveError, ExecutionTargetError, SecretError) as error:
            raise AirflowFailException(f"pipeline '{task.pipeline}': {error}") from None

    def unfinished(self, task: TaskTry, context: Context) -> Application | None:
        """Return what an earlier try of this task, or this one, has submitted, if it is to be waited for."""
        application = self._found(task, context)
        if application is None:
            return None
        if application.task.execution_id == task.execution_id:
            return continued(application, self, context)
        is_abandoned = was_deferred(context, application.id) and not is_done(application.task)
        if is_abandoned and self._end(application, context):
            return None
        return application if is_unfinished(application, self, context) else None

    def submit_job(self, context: Context) -> str | None:
        """Submit, and keep the application's id where the next try finds it."""
        id: str | None = super().submit_job(context)
        if id is not None and self._submits is not None:
            store_application(id, context, self._submits, self)
        return id

    def poll_until_complete(self, external_id: Any, context: Context) -> None:
        """Wait for an application; raises TaskDeferred if the triggerer is to do so."""
        if self._waits_in_triggerer:
            defer(self, str(external_id), self.staging, context)
        super().poll_until_complete(external_id, context)

    def execute_complete(self, context: Context, event: object = None) -> Any:
        """Continue the try whose application has ended: its reports decide, whatever the event says."""
        self.log.info("graph_compiler: the triggerer has waited: %s", event)
        self._is_continued = True
        forget_deferral(context)
        return self.execute(context)

    def resume_execution(self, next_method: str, next_kwargs: dict[str, Any] | None, context: Context) -> Any:
        """Continue; if Airflow does so only to fail the task (a timeout, a failed trigger), end its application."""
        if next_method == TRIGGER_FAIL_REPR:
            try:
                self._end_deferred(context)
            except Exception:  # whatever it is, the task fails with Airflow's reason
                self.log.warning("graph_compiler: its application was not ended", exc_info=True)
        return super().resume_execution(next_method, next_kwargs, context)

    def on_kill(self) -> None:
        """End the whole application, after the task was marked, cleared, or timed out."""
        self.is_killed = True
        self._end_application()

    def _end_deferred(self, context: Context) -> None:
        open_stores(*self.staging)
        application = self._found(self.current_try(context), context)
        if application is not None:
            self._end(application, context)

    def _found(self, task: TaskTry, context: Context) -> Application | None:
        """Return what an earlier process has submitted, prepared for: a kill from here on is its end."""
        application = unfinished(context, task, self)
        if application is not None:
            self.application_args = list(application.task.descriptors)
            with self.explained(application.task):
                self.prepared(application.task)
        return application

    def _end(self, application: Application, context: Context) -> bool:
        """End an application; False if the connection no longer leads to where it runs."""
        if why_elsewhere(application, self, context) is not None:
            return False
        self.take_over(application.id)
        self._end_application()
        return True

    def _end_application(self) -> None:
        descriptors = list(self.application_args or ())
        if not ask_streams(descriptors):
            self.patience = 0
        elif self.is_elsewhere:
            wait_for_reports(descriptors, _LEFT_TO_A_KILL)
        with stopping(descriptors):
            super().on_kill()


# Wait for an application without a worker's slot: the task defers, and its try continues after the application's end.
#
# submit ─▶ id in the task state store ─▶ defer ┄┄┄ the triggerer asks the cluster ┄┄┄▶ the same try reads the reports
#
#     the task is marked, cleared or removed      the trigger ends the application
#     a timeout, or the trigger fails             the try that Airflow resumes in order to fail ends it
#     it was cleared while no triggerer ran       the next try ends it, before it submits another one
#     the triggerer restarts                      another one asks; the application does not notice

_DEFERRED = "graph_compiler_deferred"
"""The id of the application for which a trigger waits, or waited when its task was cleared."""
_POLL_SECONDS = 10.0
_LEAST = timedelta(seconds=1)


def is_deferrable(place: DriverPlace, wanted: bool | None, task_id: str) -> bool:
    """Whether a task waits in the triggerer; None is what Airflow's `[operators] default_deferrable` says.

    Before Airflow 3.3, none does: its trigger could not end the application of a task that was marked or cleared.
    Raises ExecutionTargetError if that is wanted for this pipeline, and its driver is no application of a cluster.
    """
    if not has_all():
        return False
    if place.is_tracked:
        return bool(conf.getboolean("operators", "default_deferrable", fallback=False) if wanted is None else wanted)
    if wanted:
        raise ExecutionTargetError(
            f"task '{task_id}': option execution.deferrable is true, but its driver is a process of the Airflow "
            "worker, which must stay\n"
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


def defer(operator: SubmitOperator, application: str, staging: tuple[str, str | None], context: Context) -> None:
    """Leave an application to the triggerer; `staging` is the root with its connection.

    Raises TaskDeferred; returns if Airflow has no task state store, by which it would be found again.
    """
    if (store := context.get("task_state_store")) is None:
        return
    # Not before: it costs time, and the modules of tasks are imported when Dags are parsed.
    from graph_compiler.airflow_backend.task.following.application_trigger import ApplicationTrigger

    store.set(_DEFERRED, application)
    root, staging_conn_id = staging
    conn_id, deploy_mode = operator.cluster
    trigger = ApplicationTrigger(
        application=application,
        conn_id=conn_id,
        deploy_mode=deploy_mode,
        descriptors=list(operator.application_args or ()),
        staging_root=root,
        staging_conn_id=staging_conn_id,
        poll_interval=_POLL_SECONDS,
    )
    timeout = _time_left(operator, context)
    raise TaskDeferred(trigger=trigger, method_name="execute_complete", timeout=timeout)


def _time_left(operator: SubmitOperator, context: Context) -> timedelta | None:
    limit: timedelta | None = operator.execution_timeout
    if limit is None:
        return None
    started: datetime = context["ti"].start_date
    return max(_LEAST, limit - (datetime.now(UTC) - started))
