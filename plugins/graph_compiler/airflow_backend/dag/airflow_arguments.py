"""Airflow's own arguments, passed on by name: of the Dag, and of tasks by slot sharing group or by name.

    build_dag(env, max_active_runs=2, default_args={"owner": "me"}, task_args={"report": {"pool": "database"}})

What is missing here has a reason, or is of an Airflow that is newer (tests/airflow/test_airflow_arguments.py compares).
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any, TypedDict

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

from graph_compiler.errors import Problem
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.identifiers import did_you_mean, listing


class DagArguments(TypedDict, total=False):
    """Arguments of Airflow's `DAG`, besides those that have a declaration."""

    start_date: datetime | None
    end_date: datetime | None
    catchup: bool | None
    tags: Sequence[str]
    access_control: Any
    allowed_run_types: Any
    auto_register: bool
    dag_display_name: str
    dagrun_timeout: timedelta | None
    deadline: Any
    disable_bundle_versioning: bool
    doc_md: str
    fail_fast: bool
    is_paused_upon_creation: bool | None
    max_active_runs: int
    max_active_tasks: int
    max_consecutive_failed_dag_runs: int
    on_failure_callback: Any
    on_success_callback: Any
    owner_links: dict[str, str]
    rerun_with_latest_version: bool | None
    template_searchpath: Any
    user_defined_filters: dict[str, Any]
    user_defined_macros: dict[str, Any]


class TaskArguments(TypedDict, total=False):
    """Arguments of Airflow's `BaseOperator`, besides those that a deployment task has itself."""

    depends_on_past: bool
    do_xcom_push: bool
    email: Any
    email_on_failure: bool
    email_on_retry: bool
    end_date: datetime | None
    execution_timeout: timedelta | None
    executor: str | None
    executor_config: dict[str, Any]
    ignore_first_depends_on_past: bool
    logger_name: str | None
    map_index_template: str | None
    max_active_tis_per_dag: int | None
    max_active_tis_per_dagrun: int | None
    max_retry_delay: Any
    on_execute_callback: Any
    on_failure_callback: Any
    on_retry_callback: Any
    on_skipped_callback: Any
    on_success_callback: Any
    owner: str
    pool: str
    pool_slots: int
    priority_weight: int
    queue: str
    retries: int | None
    retry_delay: Any
    retry_exponential_backoff: Any
    retry_policy: Any
    run_as_user: str | None
    start_date: datetime | None
    task_display_name: str | None
    trigger_rule: Any
    wait_for_downstream: bool
    wait_for_past_depends_before_skipping: bool
    weight_rule: Any


DECLARED: Mapping[str, str] = {
    "dag_id": "the name of the pipeline",
    "default_args": "an argument of `build_dag` itself",
    "description": "the pipeline's description",
    "jinja_environment_kwargs": "places are rendered as text, without options",
    "params": "the pipeline's parameters",
    "render_template_as_native_obj": "places are rendered as text",
    "schedule": "an argument of `build_dag` itself",
    "sla_miss_callback": "Airflow has none any more: deadline",
    "task_group": "Airflow's root of all groups",
    "template_undefined": "a place with a missing variable fails the task",
}
"""The arguments of `DAG` that are not passed on, and where they come from, or why there are none."""
OF_THE_TASK: Mapping[str, str] = {
    "allow_nested_operators": "a task runs a Spark application, and no operator",
    "dag": "the Dag that is built",
    "default_args": "an argument of `build_dag` itself",
    "doc": "the explanation of the task",
    "doc_json": "the explanation of the task",
    "doc_md": "the explanation of the task",
    "doc_rst": "the explanation of the task",
    "doc_yaml": "the explanation of the task",
    "inlets": "the assets of its sources",
    "multiple_outputs": "its XCom is one document",
    "outlets": "the assets of its sinks",
    "params": "the pipeline's parameters",
    "post_execute": "its work has been committed by then: on_success_callback",
    "pre_execute": "on_execute_callback",
    "render_template_as_native_obj": "places are rendered as text",
    "resources": "the resources of its slot sharing group",
    "sla": "Airflow has none any more: deadline of the Dag",
    "task_group": "the group that is built",
    "task_id": "`.task_id(…)`",
}
"""The arguments of `BaseOperator` that are not passed on, and where they come from, or why there are none."""
_DAG, _TASK = frozenset(DagArguments.__annotations__), frozenset(TaskArguments.__annotations__)


class TaskSettings:
    """The arguments of each task of a pipeline: the default ones, those of its slot sharing group, then its own."""

    def __init__(
        self,
        default_args: Mapping[str, Any] | None = None,
        group_args: Mapping[str, TaskArguments] | None = None,
        task_args: Mapping[str, TaskArguments] | None = None,
    ) -> None:
        self.defaults = dict(default_args or {})
        self._of_groups, self._of_tasks = dict(group_args or {}), dict(task_args or {})

    def of(self, compiled: CompiledPipeline, task: str) -> dict[str, Any]:
        """Return the arguments of a task, besides the default ones, which Airflow adds."""
        found = next(one for one in compiled.deployment.tasks if one.id == task)
        of_group = self._of_groups.get(found.slot_sharing_group, {})
        return {**of_group, **self._of_tasks.get(task, {})}

    def problems(self, compiled: CompiledPipeline) -> Iterator[Problem]:
        """Find tasks and groups that the pipeline does not have, and wrong arguments.

        In `default_args`, only names that nearly are right: others may be of operators of other Dags.
        """
        of_all = _TASK | _of_spark()
        for name in self.defaults:
            if name not in of_all and (hint := did_you_mean(name, sorted(_TASK))) is not None:
                yield Problem(message=f"default_args has '{name}', which no task has", hint=hint)
        tasks = compiled.deployment.tasks
        for what, given, known in (
            ("group_args", self._of_groups, dict.fromkeys(t.slot_sharing_group for t in tasks)),
            ("task_args", self._of_tasks, dict.fromkeys(str(task.id) for task in tasks)),
        ):
            for name, arguments in given.items():
                if name not in known:
                    yield _unknown(f"{what} has '{name}'", name, known)
                for key in arguments:
                    if key not in _TASK:
                        yield _wrong(f"{what}['{name}'] has '{key}'", key, _TASK, OF_THE_TASK)


def dag_problems(given: Mapping[str, Any]) -> Iterator[Problem]:
    """Find names that are not of a Dag: `owner` is one of its tasks."""
    for name in given:
        if name not in _DAG:
            found = f"build_dag has no argument '{name}'"
            if name in _TASK:
                yield Problem(
                    message=found, hint=f"default_args={{'{name}': …}}: it is one of tasks"
                )
            else:
                yield _wrong(found, name, _DAG, DECLARED)


@cache
def _of_spark() -> frozenset[str]:
    return frozenset(inspect.signature(SparkSubmitOperator.__init__).parameters) | set(OF_THE_TASK)


def _wrong(found: str, name: str, known: Collection[str], ours: Mapping[str, str]) -> Problem:
    if name in ours:
        return Problem(message=f"{found}, which is not passed on", hint=ours[name])
    return _unknown(found, name, known)


def _unknown(found: str, name: str, known: Collection[str]) -> Problem:
    return Problem(
        message=found if found.startswith("build_dag") else f"{found}, which does not exist",
        allowed=listing(sorted(known)),
        hint=did_you_mean(name, sorted(known)),
    )
