"""A compiled pipeline as an Airflow Dag: its deployment tasks, one dependency for each staged edge between two.

dag = build_dag(env, schedule="@daily", start_date=datetime(2013, 1, 1))
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from datetime import timedelta
from types import EllipsisType
from typing import Any, TypeAlias, Unpack

from airflow.sdk import DAG, Asset, AssetAll, AssetAny, CronDataIntervalTimetable, CronTriggerTimetable
from airflow.sdk.bases.timetable import BaseTimetable
from airflow.sdk.configuration import conf

from graph_compiler.airflow_backend.dag.arguments import Arguments, params_of
from graph_compiler.airflow_backend.dag.assets import asset_at, runs_without_end
from graph_compiler.airflow_backend.dag.concurrency import (
    what_catchup_loses,
    what_several_runs_cost,
    why_one_run_at_a_time,
)
from graph_compiler.airflow_backend.dag.deployment_tasks import add_tasks
from graph_compiler.airflow_backend.dag.logical_dates import (
    places_without_logical_date,
    what_days_lose,
    what_midnight_misses,
)
from graph_compiler.airflow_backend.dag.plan_document import TAG
from graph_compiler.airflow_backend.installation.settings import read_settings
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.dag.airflow_arguments import AirflowArguments, DagArguments, TaskArguments
from graph_compiler.declaration.dag.schedule import Schedule
from graph_compiler.declaration.environment import StreamExecutionEnvironment
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.deployment.describe.airflow_arguments import airflow_arguments
from graph_compiler.errors import InvalidPipelineError
from graph_compiler.explain.text.plan_text import explain_text

When: TypeAlias = str | timedelta | Asset | AssetAll | AssetAny | Sequence[Asset] | BaseTimetable
DEFAULT_ARGUMENTS: Mapping[str, Any] = {"retries": 2, "retry_delay": timedelta(seconds=10)}
"""Retries are on: a retried region reads what others have committed, so it repeats only its own work."""


def build_dag(
    declared: StreamExecutionEnvironment | Pipeline,
    *,
    schedule: When | EllipsisType | None = ...,
    default_args: Mapping[str, Any] | None = None,
    group_args: Mapping[str, TaskArguments] | None = None,
    task_args: Mapping[str, TaskArguments] | None = None,
    **dag_args: Unpack[DagArguments],
) -> DAG:
    """Compile the pipeline and return its Dag; the Dag id is the pipeline's name.

    Missing arguments are taken from the pipeline's `schedule`; without one, the Dag only runs when triggered.
    `dag_args` are Airflow's own. `default_args` are those of every task, `group_args` of the tasks of a slot sharing
    group, `task_args` of a task, by its name; the last one counts. Raises InvalidPipelineError with every problem
    found, including places that need a logical date although no run will have one; warns if `catchup` would make each
    run overwrite the rows of the previous one, or if two runs have the same day.
    """
    pipeline = declared if isinstance(declared, Pipeline) else declared.pipeline()
    settings = read_settings()
    compiled = compile_pipeline(pipeline, settings.options)
    given = AirflowArguments(
        dag=dag_args, default_args=default_args or {}, group_args=group_args or {}, task_args=task_args or {}
    )
    airflow = airflow_arguments(compiled, given, "build_dag")
    when = _when(pipeline) if isinstance(schedule, EllipsisType) else schedule
    dag = DAG(
        pipeline.name,
        description=pipeline.description,
        schedule=when,
        params=params_of(pipeline),
        default_args={**DEFAULT_ARGUMENTS, **airflow.default_args},
        **_dag_arguments(pipeline, when, is_ours=isinstance(schedule, EllipsisType), given=airflow.dag),
    )
    templates = dag.get_template_env()
    if problems := places_without_logical_date(compiled, when, templates):
        raise InvalidPipelineError(pipeline.name, problems)
    notes = ""
    if reason := why_one_run_at_a_time(compiled, templates):
        dag.max_active_runs = airflow.dag.get("max_active_runs", 1)
        notes = f"\n{reason}" if dag.max_active_runs == 1 else f"\n{what_several_runs_cost(compiled)}"
    if dag.catchup and (loss := what_catchup_loses(compiled, templates)):
        notes += f"\n\n{loss}"
        warnings.warn(f"Dag '{dag.dag_id}': {loss}", stacklevel=2)
    for loss in (
        what_days_lose(compiled, dag.timetable, templates),
        what_midnight_misses(pipeline, compiled.options, dag.timetable),
    ):
        if loss:
            notes += f"\n\n{loss}"
            warnings.warn(f"Dag '{dag.dag_id}': {loss}", stacklevel=2)
    # Airflow records the file that calls DAG(); it must be the file that calls build_dag.
    dag.fileloc = sys._getframe(1).f_code.co_filename
    tasks, plan = add_tasks(dag, compiled, settings, Arguments.own(pipeline), airflow)
    dag.doc_md = "\n\n".join(filter(None, [dag.doc_md, f"```\n{explain_text(plan)}\n```{notes}"]))
    if problems := runs_without_end(when, tasks.values()):
        raise pipeline.placed(InvalidPipelineError(pipeline.name, problems))
    return dag


def _when(pipeline: Pipeline) -> When | None:
    """Return a pipeline's schedule as Airflow's arguments."""
    hints = pipeline.schedule or Schedule()
    cron = hints.cron
    if hints.assets:
        return [asset_at(place) for place in hints.assets]
    is_by_a_clock = cron not in ("@once", "@continuous")
    if cron and is_by_a_clock and hints.timezone != "UTC" and hints.start is None:
        # As Airflow chooses for the text of a cron.
        has_intervals = conf.getboolean("scheduler", "create_cron_data_intervals")
        timetable = CronDataIntervalTimetable if has_intervals else CronTriggerTimetable
        return timetable(cron, timezone=hints.timezone)
    return cron or hints.every


def _dag_arguments(pipeline: Pipeline, when: When | None, *, is_ours: bool, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was given, with what the pipeline's schedule says otherwise; `is_ours`: `when` is that schedule."""
    hints = pipeline.schedule or Schedule()
    start, catchup = given.get("start_date") or hints.moment(hints.start), given.get("catchup")
    if is_ours and pipeline.schedule is not None:
        start = hints.moment(start)  # Airflow reads a cron in the time zone of the start
    return {
        **_runs_at_once(when),
        **given,
        "start_date": start,
        "end_date": given.get("end_date") or hints.moment(hints.end),
        "catchup": hints.catchup if catchup is None else catchup,
        "tags": [*pipeline.tags, *(given.get("tags") or ()), TAG],
    }


def _runs_at_once(when: object) -> dict[str, Any]:
    """Return the limit on active runs that Airflow requires for a continuous schedule; others may be limited later."""
    is_continuous = when == "@continuous" or getattr(when, "active_runs_limit", None) == 1
    return {"max_active_runs": 1} if is_continuous else {}
