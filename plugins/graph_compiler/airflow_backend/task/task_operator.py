"""The Airflow task of one or more deployment regions: a SparkSubmitOperator that submits our application.

render places and parameters → descriptor.json of each region → spark-submit main.py descriptor.json … → report.json
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowException
from jinja2 import Environment

from graph_compiler.airflow_backend.connection_access import open_stores
from graph_compiler.airflow_backend.dag.arguments import Arguments, check_params, rendered_arguments, with_arguments
from graph_compiler.airflow_backend.dag.assets import describe_events, inlets, outlets, published
from graph_compiler.airflow_backend.dag.logical_dates import explaining_templates, with_run_date
from graph_compiler.airflow_backend.dag.plan_document import PLAN_DOCUMENT
from graph_compiler.airflow_backend.dag.restart_strategy import retry_arguments
from graph_compiler.airflow_backend.installation.settings import Settings
from graph_compiler.airflow_backend.notify.lineage import ReportsLineage
from graph_compiler.airflow_backend.provider.host_facts import APPLICATION
from graph_compiler.airflow_backend.provider.submit_operator import submit_options
from graph_compiler.airflow_backend.provider.submit_process import PATIENCE_SECONDS
from graph_compiler.airflow_backend.task.arrivals import end_without_spark
from graph_compiler.airflow_backend.task.driver_end import read_reports, recording
from graph_compiler.airflow_backend.task.driver_tuning import doubt_archive
from graph_compiler.airflow_backend.task.execution_files import deploy, is_done, see_run
from graph_compiler.airflow_backend.task.following.application_operator import ApplicationOperator
from graph_compiler.airflow_backend.task.following.tracking import Application, check_lost, follow, store_execution
from graph_compiler.airflow_backend.task.other_places import check_places, check_recorded_places
from graph_compiler.airflow_backend.task.run_values import earlier_failures, rendered, try_of_run
from graph_compiler.airflow_backend.task.stale_consumers import check_plan, check_reads, rerun_stale_consumers
from graph_compiler.airflow_backend.task.submitting import Preparation, prepare_try
from graph_compiler.airflow_backend.task.task_summary import FinishedTask, log_lines, summarize
from graph_compiler.airflow_backend.task.task_try import TaskTry
from graph_compiler.declaration.parameters.parameter import RUN_DATE, ParameterValue
from graph_compiler.declaration.parameters.typed_value import TypedValue
from graph_compiler.deployment.describe.templates import find_places
from graph_compiler.deployment.documents.descriptor import RegionDescriptor
from graph_compiler.deployment.documents.report import ExecutionReport
from graph_compiler.deployment.plans.plan_record import PlanRecord
from graph_compiler.deployment.restart_strategy import RestartStrategy
from graph_compiler.deployment.targets.submit_settings import UNDECLARED, SubmitSettings
from graph_compiler.errors import GraphCompilerError
from graph_compiler.program_log import with_fields


class DeploymentTaskOperator(ReportsLineage, ApplicationOperator):
    """Runs the deployment regions of a task, one after the other; each try is an execution of each of them.

    Airflow renders and shows `places` (paths) and `parameters`; the rest of the regions is never templated.
    `plan_document` is that of the whole pipeline, on one of its tasks: the web server finds it in the serialized Dag.
    """

    template_fields: Sequence[str] = (*ApplicationOperator.template_fields, "places", "parameters")
    template_fields_renderers: ClassVar[dict[str, str]] = {"places": "json", "parameters": "json"}
    custom_operator_name = "Deployment Task"
    plan_document: str | None = None
    others: tuple[RegionDescriptor, ...] = ()
    """The regions of the pipeline's other tasks, not rendered; they are not stored with the Dag."""

    def __init__(
        self,
        *,
        regions: Sequence[RegionDescriptor],
        plan: PlanRecord,
        arguments: Arguments,
        settings: Settings,
        where: SubmitSettings = UNDECLARED,
        restart: RestartStrategy | None = None,
        **kwargs: Any,
    ) -> None:
        first = regions[0]
        super().__init__(
            task_id=first.task_name,
            application=str(APPLICATION),
            name=f"{first.pipeline}.{first.task_name}",
            conn_id=where.conn_id or settings.conn_id,
            inlets=inlets(regions, arguments.defaults, arguments.assets),
            outlets=outlets(regions, arguments.defaults, arguments.assets),
            **submit_options(where, settings.spark_conf),
            **{**retry_arguments(restart, self._failures), **kwargs},
        )
        self.places = find_places(regions)
        self.parameters = {RUN_DATE: f"{{{{ {RUN_DATE} }}}}"} | {
            name: f"{{{{ params[{name!r}]{' | tojson' if isinstance(default, TypedValue) else ''} }}}}"
            for name, default in arguments.pipeline.params
        }
        self._regions = tuple(regions)
        self._plan = plan
        self._where = where
        self._settings = settings
        self.arguments = arguments
        self._given: Mapping[str, ParameterValue] = {}
        self.staging = settings.staging_root, settings.staging_conn_id
        self.defers = where.defers
        self.patience = PATIENCE_SECONDS if any(region.continuous for region in regions) else 0

    @property
    def regions(self) -> tuple[RegionDescriptor, ...]:
        """Return the regions it runs, in order, with places unrendered."""
        return self._regions

    @classmethod
    def get_serialized_fields(cls) -> frozenset[str]:
        """Return the fields of a task that Airflow stores: its own, and the plan."""
        return frozenset({*super().get_serialized_fields(), PLAN_DOCUMENT})

    def render_template_fields(self, context: Context, jinja_env: Environment | None = None) -> None:
        """Render, with `run_date` and the arguments of the task group among the parameters.

        Raises AirflowFailException if a place needs a variable missing in this run, or a parameter is none.
        """
        given = {**self.arguments.literals, **self.arguments.of_the_run}
        check_params(self.arguments.pipeline, context.get("params", {}), given)
        name, of_the_run = self.arguments.pipeline.name, dict(self.arguments.of_the_run)
        defaults = dict(self.arguments.pipeline.params)
        texts = {key: text for key, text in of_the_run.items() if isinstance(text, str)}
        with explaining_templates(name, {**self.places, **texts}):
            values = self.render_template(of_the_run, with_run_date(context, self.arguments.run_date_zone), jinja_env)
            self._given = {**self.arguments.literals, **rendered_arguments(name, values, defaults)}
            # Airflow's own context, which it later renders the name of a mapped instance with.
            context.update(self.variables(context))
            super().render_template_fields(context, jinja_env)

    def variables(self, context: Context) -> Context:
        """Return the variables of Jinja for the places of this pipeline, also in other tasks of the run."""
        return with_arguments(with_run_date(context, self.arguments.run_date_zone), self._given)

    def execute(self, context: Context) -> FinishedTask:
        """Submit the regions; return their summary, or raise with the messages of their reports."""
        open_stores(self._settings.staging_root, self._settings.staging_conn_id)
        task = self.current_try(context)
        known = self.variables(context) if self.others else context
        check_places(task, self.others, self, known)
        see_run(task)
        application = self.unfinished(task, context)
        if application is not None:
            task = application.task
        else:
            deploy(task)
        self.application_args = list(task.descriptors)
        with recording(task, lambda: self.is_killed):
            # Again, since of two tasks that start at the same moment, one now sees the other's descriptor.
            check_recorded_places(task, self.others)
            check_plan(task, self._plan)
            try:
                reports = self._submit(task, application, context)
            except AirflowException:  # it may have recomputed a result before it failed
                rerun_stale_consumers(task, self.others, self, self._settings.api_conn_id)
                raise
            check_reads(rerun_stale_consumers(task, self.others, self, self._settings.api_conn_id))
            self._announce(task, context, reports)
            return summarize(reports, task.descriptors)

    def _announce(self, task: TaskTry, context: Context, reports: Sequence[ExecutionReport]) -> None:
        """Keep the outlets to which this run has published: Airflow creates an event for each."""
        changed = self.arguments.changed_by(dict(task.first.parameters))
        written = published(self._regions, self.arguments.defaults, changed, self.arguments.assets)
        assets = (each.asset for each in written)
        self.outlets = list(dict.fromkeys(asset for asset in assets if asset is not None))
        describe_events(context, written, [output for report in reports for output in report.outputs])

    def _submit(self, task: TaskTry, application: Application | None, context: Context) -> list[ExecutionReport]:
        """Submit, or follow what was submitted; return the reports."""
        with self.explained(task):
            error = self._wait(task, application, context)
        if error is not None and not is_done(task):
            check_lost(task, self, context)
        reports = read_reports(task, error, is_elsewhere=self.is_elsewhere)
        for each, report in reports:
            for line in log_lines(report):
                self.log.info("graph_compiler: %s", with_fields(line, each.log_fields))
        return [report for _, report in reports]

    def _wait(self, task: TaskTry, application: Application | None, context: Context) -> AirflowException | None:
        """Wait until the driver has ended; return the provider's error, whose meaning the reports decide."""
        try:
            if application is not None:
                follow(application, self, context)
            else:
                self._submit_anew(task, context)
        except AirflowException as error:
            return error
        except Exception as error:  # of the provider, and of each cluster's client
            if isinstance(error, GraphCompilerError) or not self.is_elsewhere:
                raise
            return AirflowException(f"{type(error).__name__}: {error}")
        return None

    def _submit_anew(self, task: TaskTry, context: Context) -> None:
        self.conf = self.with_parent_run(context)
        prepared = self.prepared(task)
        if not prepared.plan.place.is_elsewhere and (why := end_without_spark(task)) is not None:
            self.log.info("graph_compiler: %s", why)
            return
        prepared.ship()
        if prepared.plan.place.is_tracked:
            store_execution(context, task, self)
        with prepared.submitting(self):
            try:
                super().execute(context)
            except AirflowException:
                if not (self.is_killed or is_done(task) or self.is_elsewhere):
                    doubt_archive(prepared.plan)
                raise

    def _failures(self, context: Context) -> tuple[float, ...]:
        return earlier_failures(self._regions, self._settings.staging_root, context)

    def prepare(self, task: TaskTry) -> Preparation:
        """Return what this task submits; nothing is written."""
        conn_id = self._settings.staging_conn_id
        return prepare_try(self, task, self.others, self._where, conn_id)

    def current_try(self, context: Context) -> TaskTry:
        """Return the executions of this try; raises AirflowFailException for wrong parameters or places."""
        return try_of_run(
            rendered(self._regions, self.places),
            self.arguments,
            self.parameters,
            staging_root=self._settings.staging_root,
            clears_others=self._settings.api_conn_id is not None,
            context=context,
        )
