"""A compiled pipeline as a task group in a Dag of your own.

with DAG("nightly", schedule="@daily", start_date=datetime(2026, 1, 1)):
    wait_for_orders >> build_task_group(sales) >> mail
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from airflow.sdk import DAG, TaskGroup
from jinja2 import StrictUndefined

from graph_compiler.airflow_backend.dag.arguments import arguments_in
from graph_compiler.airflow_backend.dag.assets import runs_without_end
from graph_compiler.airflow_backend.dag.concurrency import (
    what_catchup_loses,
    what_several_runs_cost,
    why_one_run_at_a_time,
)
from graph_compiler.airflow_backend.dag.dag_builder import DEFAULT_ARGUMENTS
from graph_compiler.airflow_backend.dag.deployment_tasks import add_tasks
from graph_compiler.airflow_backend.dag.logical_dates import places_without_logical_date
from graph_compiler.airflow_backend.dag.overwritten_targets import overwritten_targets
from graph_compiler.airflow_backend.dag.plan_document import TAG
from graph_compiler.airflow_backend.installation.settings import read_settings
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.dag.airflow_arguments import AirflowArguments, TaskArguments
from graph_compiler.declaration.environment import StreamExecutionEnvironment
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.deployment.describe.airflow_arguments import airflow_arguments
from graph_compiler.errors import InvalidPipelineError, Problem
from graph_compiler.explain.text.plan_text import explain_text


def build_task_group(
    declared: StreamExecutionEnvironment | Pipeline,
    group_id: str | None = None,
    *,
    params: Mapping[str, object] | None = None,
    default_args: Mapping[str, Any] | None = None,
    group_args: Mapping[str, TaskArguments] | None = None,
    task_args: Mapping[str, TaskArguments] | None = None,
) -> TaskGroup:
    """Compile the pipeline and return its tasks as a group of the current Dag and task group.

    `group_id` is the pipeline's name by default. `params` are values, templates, XComs, or what a group around this one
    is mapped over; other parameters come from the Dag's params with their names, or have the pipeline's defaults.
    `default_args`, `group_args` and `task_args` are as in `build_dag`. The schedule of the pipeline does not count.

    Raises InvalidPipelineError with every problem found, RuntimeError (Airflow's) outside of a Dag.
    """
    pipeline = declared if isinstance(declared, Pipeline) else declared.pipeline()
    settings = read_settings()
    compiled = compile_pipeline(pipeline, settings.options)
    given = AirflowArguments(default_args=default_args or {}, group_args=group_args or {}, task_args=task_args or {})
    airflow = airflow_arguments(compiled, given, "build_task_group")
    group = _group(pipeline, group_id)
    dag = group.dag
    if problems := tuple(_odd_templates(dag)):
        raise pipeline.placed(InvalidPipelineError(pipeline.name, problems))
    arguments = arguments_in(group, pipeline, params or {})
    inherited = {**dag.default_args, **group.default_args}
    unset = {name: value for name, value in DEFAULT_ARGUMENTS.items() if name not in inherited}
    group.default_args = {**group.default_args, **unset, **airflow.default_args}
    templates = dag.get_template_env()
    with group:
        tasks, plan = add_tasks(dag, compiled, settings, arguments, airflow)
    problems = (
        *places_without_logical_date(compiled, dag.schedule, templates),
        *overwritten_targets(dag, tasks.values(), templates),
        *runs_without_end(dag.schedule, tasks.values()),
    )
    if problems:
        raise pipeline.placed(InvalidPipelineError(pipeline.name, problems))
    dag.tags.add(TAG)
    group.doc_md = f"```\n{explain_text(plan)}\n```"
    is_known = dag.max_active_runs != 1 and not arguments.of_the_run
    if is_known and why_one_run_at_a_time(compiled, templates):
        group.doc_md += f"\n{what_several_runs_cost(compiled)}"
    if dag.catchup and (loss := what_catchup_loses(compiled, templates)):
        group.doc_md += f"\n\n{loss}"
        warnings.warn(f"Dag '{dag.dag_id}', group '{group.group_id}': {loss}", stacklevel=2)
    return group


def _group(pipeline: Pipeline, group_id: str | None) -> TaskGroup:
    """Return the empty group; Airflow allows no dot in its id, which the name of a pipeline may have."""
    name = group_id or pipeline.name.replace(".", "_")
    try:
        return TaskGroup(name, tooltip=pipeline.description or "")
    except ValueError as error:
        problem = Problem(message=f"it cannot be task group '{name}': {error}", hint="group_id=…")
        raise pipeline.placed(InvalidPipelineError(pipeline.name, [problem])) from None


def _odd_templates(dag: DAG) -> Iterator[Problem]:
    """Find settings of a Dag with which places and parameters would not be what they say."""
    if dag.jinja_environment_kwargs:
        yield Problem(
            message=f"its Dag '{dag.dag_id}' has jinja_environment_kwargs",
            hint="places and parameters are templates with Airflow's own settings",
        )
    if dag.template_undefined is not StrictUndefined:
        yield Problem(
            message=f"its Dag '{dag.dag_id}' has template_undefined={dag.template_undefined.__name__}",
            hint="with it, a place with a missing variable would become a different place",
        )
