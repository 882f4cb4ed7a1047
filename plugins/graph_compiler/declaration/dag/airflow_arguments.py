"""Airflow's own arguments, by name: of the Dag, and of tasks by slot sharing group or by name. Airflow is not imported.

    AirflowArguments(dag={"max_active_runs": 2}, default_args={"owner": "me"}, task_args={"report": {"pool": "db"}})

What is missing here has a reason, or is of an Airflow that is newer (tests/airflow/test_airflow_arguments.py compares).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypedDict

from graph_compiler.declaration.refusals.constructors import HeldToForm
from graph_compiler.errors import Problem
from graph_compiler.identifiers import TaskName, did_you_mean, listing, shown


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
OF_SPARK = (
    "application",
    "application_args",
    "archives",
    "conf",
    "conn_id",
    "deploy_mode",
    "driver_class_path",
    "driver_memory",
    "durable",
    "env_vars",
    "exclude_packages",
    "executor_cores",
    "executor_memory",
    "files",
    "jars",
    "java_class",
    "keytab",
    "name",
    "num_executors",
    "openlineage_inject_parent_job_info",
    "openlineage_inject_transport_info",
    "packages",
    "post_submit_commands",
    "principal",
    "properties_file",
    "proxy_user",
    "py_files",
    "reconnect_on_retry",
    "repositories",
    "spark_binary",
    "status_poll_interval",
    "total_executor_cores",
    "track_driver_via_k8s_api",
    "use_krb5ccache",
    "verbose",
    "yarn_queue",
    "yarn_rm_auth",
    "yarn_track_via_rm_api",
)
"""The arguments of `SparkSubmitOperator`, which may be in `default_args`, too."""
ONE_OF: Mapping[str, tuple[str, ...]] = {
    "trigger_rule": (
        "all_done",
        "all_done_min_one_success",
        "all_done_setup_success",
        "all_failed",
        "all_skipped",
        "all_success",
        "always",
        "none_failed",
        "none_failed_min_one_success",
        "none_skipped",
        "one_done",
        "one_failed",
        "one_success",
    ),
    "weight_rule": ("absolute", "downstream", "upstream"),
}
"""The words of an argument, if it is text; a weight rule may also be a class of yours."""
_AT_LEAST_ONE = "pool_slots"
_FORM = "a name, with a mapping of arguments"
_DAG, _TASK = frozenset(DagArguments.__annotations__), frozenset(TaskArguments.__annotations__)
_OF_ALL = _TASK | frozenset(OF_SPARK) | OF_THE_TASK.keys()


@dataclass(frozen=True, slots=True, kw_only=True)
class AirflowArguments(metaclass=HeldToForm):
    """Arguments of the Dag; of all its tasks; of the tasks of a slot sharing group; of one task, by its name."""

    dag: Mapping[str, Any] = field(default_factory=dict, hash=False)
    default_args: Mapping[str, Any] = field(default_factory=dict, hash=False)
    group_args: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, hash=False)
    task_args: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, hash=False)

    def overridden(self, by: AirflowArguments) -> AirflowArguments:
        """Return these with those of another, which count where both have one."""
        return AirflowArguments(
            dag={**self.dag, **by.dag},
            default_args={**self.default_args, **by.default_args},
            group_args=_merged(self.group_args, by.group_args),
            task_args=_merged(self.task_args, by.task_args),
        )

    def of_task(self, name: str, group: str) -> dict[str, Any]:
        """Return the arguments of a task, besides the default ones: those of its group, then its own."""
        return {**self.group_args.get(group, {}), **self.task_args.get(name, {})}

    def problems(self, function: str) -> Iterator[Problem]:
        """Find wrong names, and values that Airflow does not take.

        `function` is what they were given to, as arguments of a Dag. In `default_args`, only names that nearly are
        right: others may be of operators of other Dags.
        """
        for name in (name for name in self.dag if name not in _DAG):
            yield _of_dag(f"{function} has no argument '{name}'", name)
        for name in OF_THE_TASK.keys() & self.default_args.keys():
            yield _of_task(f"default_args has '{name}'", name)
        for name in self.default_args:
            if name not in _OF_ALL and (hint := did_you_mean(name, sorted(_TASK))) is not None:
                yield Problem(message=f"default_args has '{name}', which no task has", hint=hint)
        yield from _wrong_values(self.default_args, "default_args")
        for what, given in (("group_args", self.group_args), ("task_args", self.task_args)):
            for owner, arguments in given.items():
                if not isinstance(owner, str) or not isinstance(arguments, Mapping):
                    yield Problem(message=f"{what} has {owner!r}: {shown(arguments)}", allowed=_FORM)
                    continue
                wrong = (name for name in arguments if name not in _TASK)
                yield from (_of_task(f"{what}['{owner}'] has '{name}'", name) for name in wrong)
                yield from _wrong_values(arguments, f"{what}['{owner}']")


NO_ARGUMENTS = AirflowArguments()


def find_strangers(given: AirflowArguments, groups: Mapping[TaskName, str]) -> Iterator[Problem]:
    """Find names of tasks and slot sharing groups that a pipeline does not have; `groups` are those of its tasks."""
    for what, owners, known in (
        ("group_args", given.group_args, set(groups.values())),
        ("task_args", given.task_args, set(map(str, groups))),
    ):
        for name in owners:
            if isinstance(name, str) and name not in known:
                yield _unknown(f"{what} has '{name}', which does not exist", name, known)


def _merged(
    ours: Mapping[str, Mapping[str, Any]], theirs: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    return {name: {**ours.get(name, {}), **theirs.get(name, {})} for name in dict.fromkeys([*ours, *theirs])}


def _of_dag(found: str, name: str) -> Problem:
    if name in _TASK:
        return Problem(message=found, hint=f"default_args={{'{name}': …}}: it is one of tasks")
    if name in DECLARED:
        return Problem(message=f"{found}: it is not passed on", hint=DECLARED[name])
    return _unknown(found, name, _DAG)


def _of_task(found: str, name: str) -> Problem:
    if name in OF_THE_TASK:
        return Problem(message=f"{found}, which is not passed on", hint=OF_THE_TASK[name])
    return _unknown(f"{found}, which does not exist", name, _TASK)


def _unknown(found: str, name: str, known: Collection[str]) -> Problem:
    return Problem(message=found, allowed=listing(sorted(known)), hint=did_you_mean(name, sorted(known)))


def _wrong_values(arguments: Mapping[str, Any], where: str) -> Iterator[Problem]:
    """Find values of tasks that Airflow does not take; `where` names the mapping they are in."""
    for name, allowed in ONE_OF.items():
        value = arguments.get(name)
        if isinstance(value, str) and value not in allowed:
            yield Problem(
                message=f"{where} has {name} {shown(value)}",
                allowed=listing(allowed),
                hint=did_you_mean(value, allowed),
            )
    slots = arguments.get(_AT_LEAST_ONE)
    if isinstance(slots, int) and slots < 1:
        yield Problem(message=f"{where} has {_AT_LEAST_ONE} {slots}", allowed="at least 1")
