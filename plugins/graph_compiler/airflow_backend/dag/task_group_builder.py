"""A compiled pipeline as a task group in a Dag of your own.

with DAG("nightly", schedule="@daily", start_date=datetime(2026, 1, 1)):
    wait_for_orders >> build_task_group(sales) >> mail
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow.sdk import TaskGroup

from graph_compiler.airflow_backend.dag.airflow_arguments import (
    TaskArguments,
    TaskSettings,
)
from graph_compiler.airflow_backend.dag.arguments import arguments_in
from graph_compiler.airflow_backend.dag.assets import runs_without_end
from graph_compiler.airflow_backend.dag.concurrency import SEVERAL_RUNS, why_one_run_at_a_time
from graph_compiler.airflow_backend.dag.dag_builder import DEFAULT_ARGUMENTS
from graph_compiler.airflow_backend.dag.deployment_tasks import add_tasks
from graph_compiler.airflow_backend.dag.logical_dates import places_without_logical_date
from graph_compiler.airflow_backend.dag.overwritten_targets import overwritten_targets
from graph_compiler.airflow_backend.dag.plan_document import TAG
from graph_compiler.airflow_backend.installation.settings import read_settings
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.environment import StreamExecutionEnvironment
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.errors import InvalidPipelineError
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
    of_tasks = TaskSettings(default_args, group_args, task_args)
    if wrong := tuple(of_tasks.problems(compiled)):
        raise pipeline.placed(InvalidPipelineError(pipeline.name, wrong))
    group = TaskGroup(group_id or pipeline.name, tooltip=pipeline.description or "")
    dag = group.dag
    arguments = arguments_in(group, pipeline, params or {})
    inherited = {**dag.default_args, **group.default_args}
    unset = {name: value for name, value in DEFAULT_ARGUMENTS.items() if name not in inherited}
    group.default_args = {**group.default_args, **unset, **of_tasks.defaults}
    templates = dag.get_template_env()
    with group:
        tasks = add_tasks(dag, compiled, settings, arguments, of_tasks)
    problems = (
        *places_without_logical_date(compiled, dag.schedule, templates),
        *overwritten_targets(dag, tasks.values(), templates),
        *runs_without_end(dag.schedule, dag),
    )
    if problems:
        raise pipeline.placed(InvalidPipelineError(pipeline.name, problems))
    dag.tags.add(TAG)
    group.doc_md = f"```\n{explain_text(compiled)}\n```"
    if why_one_run_at_a_time(compiled, templates):
        group.doc_md += f"\n{SEVERAL_RUNS}"
    return group
