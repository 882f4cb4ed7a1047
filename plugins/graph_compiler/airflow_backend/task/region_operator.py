"""The Airflow task of one deployment region: a SparkSubmitOperator that submits our application.

render places and parameters → descriptor.json → spark-submit main.py descriptor.json → report.json
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowException, AirflowFailException
from jinja2 import Environment

from graph_compiler.airflow_backend.dag.assets import describe_events, inlets, outlets, published
from graph_compiler.airflow_backend.dag.logical_dates import explaining_templates, with_run_date
from graph_compiler.airflow_backend.dag.plan_document import PLAN_DOCUMENT
from graph_compiler.airflow_backend.dag.restart_strategy import retry_arguments
from graph_compiler.airflow_backend.installation.settings import Settings
from graph_compiler.airflow_backend.run_identities import identity_of_task
from graph_compiler.airflow_backend.task.driver_end import why_failed
from graph_compiler.airflow_backend.task.driver_environment import (
    PACKAGE,
    driver_environment,
    driver_python,
)
from graph_compiler.airflow_backend.task.execution_files import (
    deploy,
    leave_outcome,
    leave_submission,
    read_report,
)
from graph_compiler.airflow_backend.task.executor_code import pass_code, ship_code
from graph_compiler.airflow_backend.task.log_limit import limit_log
from graph_compiler.airflow_backend.task.other_places import check_places, check_recorded_places
from graph_compiler.airflow_backend.task.process_group import end_driver, lead_a_group
from graph_compiler.airflow_backend.task.region_summary import RegionSummary, log_lines, summarize
from graph_compiler.airflow_backend.task.secret_values import pass_secrets, secret_values
from graph_compiler.airflow_backend.task.shared_root import pass_umask, see_run
from graph_compiler.airflow_backend.task.stale_consumers import rerun_stale_consumers
from graph_compiler.airflow_backend.task.submit_options import submit_options
from graph_compiler.airflow_backend.task.submit_target import (
    ExecutionTargetError,
    driver_place,
    submit_target,
)
from graph_compiler.declaration.parameters.parameter import RUN_DATE
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.deployment.describe.run_parameters import check_parameters, parse_parameter
from graph_compiler.deployment.describe.templates import fill_places, find_places
from graph_compiler.deployment.documents.descriptor import (
    VERSION,
    ExecutionAttempt,
    RegionDescriptor,
    TaskDeploymentDescriptor,
)
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.deployment.documents.submission import Submission
from graph_compiler.deployment.plans.plan_record import PlanRecord
from graph_compiler.deployment.restart_strategy import RestartStrategy
from graph_compiler.deployment.targets.submit_settings import UNDECLARED, SubmitSettings
from graph_compiler.errors import (
    InvalidPipelineError,
    ParameterError,
    SecretError,
    StaleResultError,
)
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.projects.code_archive import CodeArchive, CodeArchiveError
from graph_compiler.staging.executions.executions import failure_times
from graph_compiler.staging.results.manifest_log import ManifestLog
from graph_compiler.staging.results.plan_log import check_inputs, record_plan
from graph_compiler.staging.store.stores import store_of

APPLICATION = PACKAGE / "spark_runtime" / "main.py"


class RegionOperator(SparkSubmitOperator):  # type: ignore[misc]  # the provider ships no types
    """Runs one deployment region; try n is execution attempt n - 1.

    Airflow renders and shows `places` (paths) and `parameters`; the rest of the region is never templated.
    `plan_document` is that of the whole pipeline, on one of its tasks: the web server finds it in the serialized Dag.
    """

    template_fields: Sequence[str] = (*SparkSubmitOperator.template_fields, "places", "parameters")
    template_fields_renderers: ClassVar[dict[str, str]] = {"places": "json", "parameters": "json"}
    custom_operator_name = "Deployment Region"
    plan_document: str | None = None
    others: tuple[RegionDescriptor, ...] = ()
    """The pipeline's other tasks, not rendered; they are not stored with the Dag."""

    def __init__(
        self,
        *,
        region: RegionDescriptor,
        plan: PlanRecord,
        pipeline: Pipeline,
        settings: Settings,
        where: SubmitSettings = UNDECLARED,
        restart: RestartStrategy | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            task_id=region.region_id,
            application=str(APPLICATION),
            name=f"{region.pipeline}.{region.region_id}",
            conn_id=where.conn_id or settings.conn_id,
            inlets=inlets(region, dict(pipeline.params)),
            outlets=outlets(region, dict(pipeline.params)),
            **submit_options(region.resource_profile, where, settings.spark_conf),
            **retry_arguments(restart, self._failures),
            **kwargs,
        )
        self.places = find_places(region)
        self.parameters = {RUN_DATE: f"{{{{ {RUN_DATE} }}}}"} | {
            name: f"{{{{ params[{name!r}] }}}}" for name, _ in pipeline.params
        }
        self._region = region
        self._plan = plan
        self._declared_target = where.target
        self._pipeline = pipeline
        self._staging_root = settings.staging_root
        self._api_conn_id = settings.api_conn_id
        self._secrets: dict[str, str] = {}
        self._is_killed = False

    @property
    def region(self) -> RegionDescriptor:
        """Return the region it runs, with places unrendered."""
        return self._region

    @classmethod
    def get_serialized_fields(cls) -> frozenset[str]:
        """Return the fields of a task that Airflow stores: its own, and the plan."""
        return frozenset({*super().get_serialized_fields(), PLAN_DOCUMENT})

    def render_template_fields(
        self, context: Context, jinja_env: Environment | None = None
    ) -> None:
        """Render, also with `run_date`; raises AirflowFailException if a place needs a variable missing in this run."""
        with explaining_templates(self._pipeline.name, self.places):
            super().render_template_fields(with_run_date(context), jinja_env)

    def execute(self, context: Context) -> RegionSummary:
        """Submit the region; return its summary, or raise with the report's message."""
        task = self._task(context)
        check_places(task, self.others, self, context)
        see_run(task)
        descriptor = deploy(task)
        self.application_args = [descriptor]
        with self._recording(descriptor):
            # Again, since of two tasks that start at the same moment, one now sees the other's descriptor.
            check_recorded_places(task, self.others)
            self._check_plan(task)
            try:
                summary = self._submit(task, context)
            except AirflowException:  # it may have recomputed a result before it failed
                rerun_stale_consumers(task, self, self._api_conn_id, self.log)
                raise
            rerun_stale_consumers(task, self, self._api_conn_id, self.log)
            self._announce(task, context, summary)
            return summary

    def _announce(
        self, task: TaskDeploymentDescriptor, context: Context, summary: RegionSummary
    ) -> None:
        """Keep the outlets to which this run has published: Airflow creates an event for each."""
        defaults = dict(self._pipeline.params)
        written = published(self._region, defaults, dict(task.parameters))
        assets = (each.asset for each in written)
        self.outlets = list(dict.fromkeys(asset for asset in assets if asset is not None))
        describe_events(context, written, summary["outputs"])

    def _check_plan(self, task: TaskDeploymentDescriptor) -> None:
        """Record the plan; raises AirflowFailException if another plan computed an input of the task."""
        log = ManifestLog(store=store_of(task.staging_root), layout=task.layout)
        record_plan(log.store, task.layout, self._plan)
        try:
            check_inputs(log, task, self._plan)
        except StaleResultError as error:
            raise AirflowFailException(f"pipeline '{task.region.pipeline}': {error}") from None

    def _submit(self, task: TaskDeploymentDescriptor, context: Context) -> RegionSummary:
        try:
            self._secrets = secret_values(task.region)
            submission, archive = self.submission(task)
            ship_code(task, archive)
            leave_submission(task, submission)
            super().execute(context)
        except (CodeArchiveError, ExecutionTargetError, SecretError) as error:
            raise AirflowFailException(f"pipeline '{task.region.pipeline}': {error}") from None
        except AirflowException as error:
            raise why_failed(task, error, self._hook) or error from None
        if (failed := why_failed(task, None, self._hook)) is not None:
            raise failed
        report = read_report(task)
        for line in log_lines(report):
            self.log.info("graph_compiler: %s", line)
        return summarize(
            report, task.layout.report(task.region.region_id, task.attempt.execution_id)
        )

    @contextmanager
    def _recording(self, descriptor: str) -> Iterator[None]:
        """Write the attempt's outcome, unless this process is killed."""
        state, reason = ExecutionState.FINISHED, None
        try:
            yield
        except BaseException as error:
            state = ExecutionState.CANCELED if self._is_killed else ExecutionState.FAILED
            reason = str(error) or type(error).__name__
            raise
        finally:
            leave_outcome(descriptor, state, reason)

    def on_kill(self) -> None:
        """End the whole application, after the task was marked, cleared, or timed out."""
        self._is_killed = True
        if self.application_args:  # this process may be killed before it ends
            leave_outcome(
                self.application_args[0],
                ExecutionState.CANCELED,
                "it was stopped while it was running",
            )
        if self._hook is None or not end_driver(self._hook):
            super().on_kill()

    def _failures(self, context: Context) -> tuple[float, ...]:
        """Return when earlier tries of this task failed."""
        instance = context["ti"]
        identity = identity_of_task(self._region, instance)
        layout = StagingLayout(root=self._staging_root, identity=identity)
        return failure_times(
            store_of(layout.root), layout, self._region.region_id, but=str(instance.id)
        )

    def submission(self, task: TaskDeploymentDescriptor) -> tuple[Submission, CodeArchive | None]:
        """Return how a task is submitted, and the code that executors read; nothing is written."""
        # Not in __init__: Airflow would store this host's paths in the Dag, and every host would create a Dag version.
        self.env_vars = driver_environment([task.region, *self.others])
        self._hook = self._get_hook()
        target = submit_target(self._hook, self._declared_target, self.task_id)
        pass_secrets(self._hook, driver_place(self._hook, target), task.region, self._secrets)
        self._hook._conf |= driver_python(self._hook)
        pass_umask(self._hook, task.staging_root)
        archive = pass_code(self._hook, target, task, self.others)
        command = self._hook._build_spark_submit_command(self.application)  # no public API has it
        submission = Submission(
            command=tuple(command),
            shown=self._hook._mask_cmd(command),
            environment=tuple(sorted(self.env_vars.items())),
            host=socket.gethostname(),
        )
        return submission, archive

    def _task(self, context: Context) -> TaskDeploymentDescriptor:
        """Return the descriptor with the run's values; raises AirflowFailException if they are invalid."""
        instance = context["ti"]
        try:
            region = fill_places(self._region, self.places)
        except InvalidPipelineError as error:
            raise AirflowFailException(str(error)) from None
        defaults = {RUN_DATE: "", **dict(self._pipeline.params)}
        try:
            parameters = {
                name: parse_parameter(name, str(value), defaults)
                for name, value in self.parameters.items()
            }
            check_parameters(self._pipeline, parameters)
        except ParameterError as error:
            raise AirflowFailException(f"pipeline '{region.pipeline}': {error}") from None
        identity = identity_of_task(region, instance)
        return TaskDeploymentDescriptor(
            version=VERSION,
            identity=identity,
            region=region,
            attempt=ExecutionAttempt(
                execution_id=str(instance.id),
                attempt_number=instance.try_number - 1,
            ),
            staging_root=self._staging_root,
            parameters=tuple(parameters.items()),
            logical_date=_logical_date(context),
            clears_others=self._api_conn_id is not None,
        )

    def _get_hook(self) -> SparkSubmitHook:
        hook = super()._get_hook()
        lead_a_group(hook)
        limit_log(hook)
        return hook


def _logical_date(context: Context) -> str | None:
    run = context.get("dag_run")
    return None if run is None or run.logical_date is None else run.logical_date.isoformat()
