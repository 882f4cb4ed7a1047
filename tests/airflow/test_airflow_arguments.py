"""Airflow's arguments: passed on by name, for the Dag, for all tasks, for a slot sharing group, and for one task."""

import asyncio
import inspect
import re
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from graph_compiler import AirflowArguments, Csv, Parquet, SlotSharingGroup, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.dag.airflow_arguments import (
    DECLARED,
    OF_SPARK,
    OF_THE_TASK,
    ONE_OF,
    DagArguments,
    TaskArguments,
)
from graph_compiler.deployment.describe.region_descriptors import describe_pipeline
from graph_compiler.errors import InvalidPipelineError
from tests.airflow.conftest import ROOT
from tests.harness.installed_airflow import HAS_ALL

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]


def sales(**config: str) -> StreamExecutionEnvironment:
    """Declare rows ║ report, in two slot sharing groups."""
    env = StreamExecutionEnvironment("sales", tags=["shop"], config=config)
    rows = env.from_source(Csv("/in"), "rows").slot_sharing_group(SlotSharingGroup("big"))
    kept = rows.filter("n > 1").name("kept").slot_sharing_group("small")
    kept.sink_to(Parquet("/out/{{ ds }}")).name("report")
    return env


def tasks(**arguments: Any) -> tuple[Any, Any]:
    from graph_compiler.airflow_backend import build_dag

    dag = build_dag(sales(), **arguments)
    return dag.get_task("rows"), dag.get_task("report")


def test_each_argument_of_airflow_is_passed_on_or_has_a_reason() -> None:
    from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
    from airflow.sdk import DAG, BaseOperator

    def named(function: Any) -> set[str]:
        return set(inspect.signature(function).parameters) - {"self", "kwargs"}

    of_dags, of_tasks = (set(), set()) if HAS_ALL else ({"rerun_with_latest_version"}, {"retry_policy"})
    assert named(DAG.__init__) == {*DagArguments.__annotations__, *DECLARED} - of_dags
    assert named(BaseOperator.__init__) == {*TaskArguments.__annotations__, *OF_THE_TASK} - of_tasks
    assert named(SparkSubmitOperator.__init__) == set(OF_SPARK)
    assert not DECLARED.keys() & DagArguments.__annotations__.keys()
    assert not OF_THE_TASK.keys() & TaskArguments.__annotations__.keys()


def test_the_documents_name_them_all() -> None:
    text = (ROOT / "docs" / "airflow.md").read_text()
    section = text.split("## What Airflow offers\n")[1].split("\n## ")[0]
    rows = dict(re.findall(r"^\| ([^|]*?) \| (.*) \|$", section, re.MULTILINE))

    def names(row: str) -> set[str]:
        return set(re.findall(r"`(\w+)`", rows[row]))

    assert names("passed on, of the Dag") == set(DagArguments.__annotations__)
    assert names("not passed on, of the Dag") == set(DECLARED)
    assert names("passed on, of tasks") == set(TaskArguments.__annotations__)
    assert names("not passed on, of tasks") == set(OF_THE_TASK)


def test_arguments_of_the_dag_reach_it() -> None:
    from airflow.sdk.definitions.callback import AsyncCallback
    from airflow.sdk.definitions.deadline import DeadlineAlert, DeadlineReference

    from graph_compiler.airflow_backend import build_dag

    def told(_: Any) -> None: ...

    deadline = DeadlineAlert(
        reference=DeadlineReference.DAGRUN_QUEUED_AT,
        interval=timedelta(hours=1),
        callback=AsyncCallback("asyncio.sleep"),
    )
    dag = build_dag(
        sales(),
        start_date=datetime(2026, 1, 1),
        end_date=datetime(2026, 2, 1),
        tags=["daily"],
        max_active_runs=3,
        max_active_tasks=2,
        dagrun_timeout=timedelta(hours=2),
        deadline=deadline,
        on_failure_callback=told,
        access_control={"team": {"can_read"}},
        owner_links={"me": "https://example.org"},
        doc_md="# Ours",
        fail_fast=True,
        is_paused_upon_creation=False,
        dag_display_name="Sales",
    )
    assert dag.tags == {"shop", "daily", "graph_compiler"}
    assert (dag.max_active_runs, dag.max_active_tasks) == (3, 2)
    assert dag.dagrun_timeout == timedelta(hours=2)
    assert dag.deadline == [deadline]
    assert dag.on_failure_callback == told
    assert str(dag.end_date).startswith("2026-02-01")
    assert (dag.fail_fast, dag.dag_display_name) == (True, "Sales")
    assert dag.doc_md is not None
    assert dag.doc_md.startswith("# Ours\n\n```")


def test_arguments_of_tasks_are_those_of_the_task_then_its_group_then_all() -> None:
    rows, report = tasks(
        default_args={"owner": "me", "pool": "all", "execution_timeout": timedelta(hours=1)},
        group_args={"big": {"pool": "big", "priority_weight": 5, "queue": "fast"}},
        task_args={"rows": {"priority_weight": 9}, "report": {"retries": 7}},
    )
    assert (rows.owner, rows.pool, rows.priority_weight, rows.queue) == ("me", "big", 9, "fast")
    assert (report.owner, report.pool, report.priority_weight) == ("me", "all", 1)
    assert (rows.retries, report.retries) == (2, 7)
    assert report.execution_timeout == timedelta(hours=1)


def test_nothing_is_in_a_pool_unless_somebody_names_one() -> None:
    assert {task.pool for task in tasks()} == {"default_pool"}


def test_an_argument_of_a_task_wins_over_the_restart_strategy() -> None:
    from graph_compiler.airflow_backend import build_dag

    env = sales(**{"restart-strategy.type": "none"})
    dag: Any = build_dag(env, task_args={"report": {"retries": 7}})
    assert [dag.get_task(name).retries for name in ("rows", "report")] == [0, 7]


def test_the_limit_of_runs_is_ones_own() -> None:
    from graph_compiler.airflow_backend import build_dag

    env = StreamExecutionEnvironment("one")
    env.from_source(Csv("/in"), "rows").sink_to(Parquet("/out"))
    assert build_dag(env).max_active_runs == 1
    several = build_dag(env, max_active_runs=4)
    assert several.max_active_runs == 4
    assert "Of two runs that publish at once, one is retried" in str(several.doc_md)


def test_they_work_in_a_task_group_too() -> None:
    from airflow.sdk import DAG

    from graph_compiler.airflow_backend import build_task_group

    with DAG("nightly", schedule=None, default_args={"owner": "they"}) as dag:
        build_task_group(
            sales(),
            default_args={"pool": "all"},
            group_args={"big": {"pool": "big"}},
            task_args={"rows": {"trigger_rule": "none_failed"}},
        )
    found: Any = [dag.get_task(f"sales.{name}") for name in ("rows", "report")]
    assert [(task.owner, task.pool) for task in found] == [("they", "big"), ("they", "all")]
    assert found[0].trigger_rule == "none_failed"


@pytest.mark.parametrize("rule", ["always", "all_done", "one_success", "none_failed"])
def test_a_trigger_rule_is_that_of_tasks_that_read_no_other_task_of_the_pipeline(rule: str) -> None:
    from airflow.sdk import DAG, TaskGroup

    from graph_compiler.airflow_backend import build_dag, build_task_group

    def rules(dag: Any, prefix: str = "") -> list[str]:
        return [dag.get_task(f"{prefix}{name}").trigger_rule for name in ("rows", "report")]

    of_all: Any = {"trigger_rule": rule}
    with DAG("nightly", schedule=None, default_args=of_all) as dag:
        build_task_group(sales())
    with DAG("grouped", schedule=None) as grouped, TaskGroup("outer", default_args=of_all):
        build_task_group(sales())
    assert rules(dag, "sales.") == rules(grouped, "outer.sales.") == [rule, "all_success"]
    assert rules(build_dag(sales(), default_args=of_all)) == [rule, "all_success"]
    of_groups: Any = {"big": of_all, "small": of_all}
    assert rules(build_dag(sales(), group_args=of_groups)) == [rule, "all_success"]


def test_a_trigger_rule_of_a_task_that_reads_staged_rows_is_refused() -> None:
    from airflow.sdk import TriggerRule

    with pytest.raises(InvalidPipelineError) as refused:
        tasks(task_args={"report": {"trigger_rule": TriggerRule.ALL_DONE}})
    assert "task_args['report'] has trigger_rule 'all_done', and 'report' reads what other" in str(refused.value)
    assert "allowed: all_success" in str(refused.value)
    _, report = tasks(task_args={"report": {"trigger_rule": "all_success"}})
    assert report.trigger_rule == "all_success"


def test_what_a_pipeline_declares_counts_unless_a_function_is_given_it() -> None:
    from airflow.sdk import DAG

    from graph_compiler.airflow_backend import build_dag, build_task_group

    declared = AirflowArguments(
        dag={"max_active_runs": 2, "catchup": True, "dag_display_name": "Sales"},
        default_args={"owner": "we", "pool": "ours"},
        task_args={"report": {"priority_weight": 5, "queue": "slow"}},
    )
    pipeline = replace(sales().pipeline(), airflow=declared)
    dag: Any = build_dag(
        pipeline, max_active_runs=3, default_args={"pool": "theirs"}, task_args={"report": {"queue": "fast"}}
    )
    assert (dag.max_active_runs, dag.catchup, dag.dag_display_name) == (3, True, "Sales")
    report = dag.get_task("report")
    assert (report.owner, report.pool, report.priority_weight) == ("we", "theirs", 5)
    assert report.queue == "fast"
    with DAG("nightly", schedule=None) as nightly:
        build_task_group(pipeline, task_args={"rows": {"owner": "they"}})
    owners: Any = [nightly.get_task(f"sales.{name}").owner for name in ("rows", "report")]
    assert owners == ["they", "we"]


def test_a_yaml_file_has_them_too(tmp_path: Path) -> None:
    from graph_compiler.airflow_backend import load_dags

    (tmp_path / "sales.yaml").write_text(
        "name: sales\n"
        "airflow: {dag: {dagrun_timeout: 2 h}, task_args: {out: {pool: big, on_retry_callback: asyncio:sleep}}}\n"
        "sources: {in: {csv: /in}}\n"
        "sinks: {out: {from: in, sink_to: {parquet: /out}}}\n"
    )
    dag = load_dags(tmp_path)["sales"]
    task: Any = dag.get_task("out")
    assert dag.dagrun_timeout == timedelta(hours=2)
    assert (task.pool, list(task.on_retry_callback)) == ("big", [asyncio.sleep])


def test_wrong_declared_names_are_found_without_airflow() -> None:
    wrong = AirflowArguments(dag={"max_active_run": 1, "pool": "x"}, task_args={"report": {"ownr": "me"}})
    with pytest.raises(InvalidPipelineError) as refusal:
        compile_pipeline(replace(sales().pipeline(), airflow=wrong))
    assert len(refusal.value.problems) == 3
    assert "airflow.dag has no argument 'max_active_run'" in str(refusal.value)
    strange = AirflowArguments(task_args={"reports": {}}, group_args={"bg": {}})
    compiled = compile_pipeline(replace(sales().pipeline(), airflow=strange))
    with pytest.raises(InvalidPipelineError, match="did you mean 'report'"):
        describe_pipeline(compiled)


@pytest.mark.parametrize("which", ["group_args", "task_args"])
def test_a_task_or_group_has_a_name_and_a_mapping(which: str) -> None:
    given = AirflowArguments(**{which: {3: {"owner": "a"}, "report": None}})  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(InvalidPipelineError) as refusal:
        compile_pipeline(replace(sales().pipeline(), airflow=given))
    assert len(refusal.value.problems) == 2
    assert f"{which} has 3: " in str(refusal.value)


@pytest.mark.parametrize("given", [{"dag": {}}, AirflowArguments(dag=3)])  # type: ignore[arg-type]  # wrong on purpose
def test_what_is_no_mapping_is_refused(given: Any) -> None:
    with pytest.raises(InvalidPipelineError, match="AirflowArguments|must be mappings"):
        compile_pipeline(replace(sales().pipeline(), airflow=given))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"max_active_run": 2}, "build_dag has no argument 'max_active_run'"),
        ({"max_active_run": 2}, "hint: did you mean 'max_active_runs'?"),
        ({"pool": "p"}, "hint: default_args={'pool': …}: it is one of tasks"),
        ({"params": {}}, "'params': it is not passed on\n    hint: the pipeline's parameters"),
        ({"default_args": {"ownr": "me"}}, "default_args has 'ownr', which no task has"),
        ({"group_args": {"bg": {}}}, "group_args has 'bg', which does not exist"),
        ({"group_args": {"big": {"pol": "x"}}}, "group_args['big'] has 'pol', which does not"),
        ({"task_args": {"reports": {}}}, "hint: did you mean 'report'?"),
        ({"task_args": {"rows": {"outlets": []}}}, "hint: the assets of its sinks"),
    ],
)
def test_wrong_names_are_refused_with_the_nearest_right_one(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidPipelineError) as refusal:
        tasks(**arguments)
    assert words in str(refusal.value)


def test_all_wrong_names_are_told_at_once_and_those_of_other_operators_are_ignored() -> None:
    with pytest.raises(InvalidPipelineError) as refusal:
        tasks(nonsense=1, task_args={"x": {}, "rows": {"y": 1}}, group_args={"z": {}})
    assert len(refusal.value.problems) == 4
    tasks(default_args={"aws_conn_id": "theirs", "executor_memory": "2g"})


def test_words_of_arguments_are_those_of_airflow() -> None:
    from airflow.sdk import TriggerRule, WeightRule

    assert set(ONE_OF["trigger_rule"]) == {rule.value for rule in TriggerRule}
    assert set(ONE_OF["weight_rule"]) == {rule.value for rule in WeightRule}


def test_values_that_airflow_does_not_take_are_found_without_it() -> None:
    given = AirflowArguments(
        default_args={"trigger_rule": "all_don", "weight_rule": object()},
        group_args={"big": {"pool_slots": 0, "weight_rule": "up"}},
        task_args={"report": {"trigger_rule": "always", "pool_slots": 1}},
    )
    assert [(problem.message, problem.hint) for problem in given.problems("build_dag(…)")] == [
        ("default_args has trigger_rule 'all_don'", "did you mean 'all_done'?"),
        ("group_args['big'] has weight_rule 'up'", None),
        ("group_args['big'] has pool_slots 0", None),
    ]
