"""How tasks of a run are cleared: by a command if there is one, otherwise with instructions."""

import shlex
from dataclasses import replace

import pytest

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.descriptor import VERSION, ExecutionAttempt, TaskDeploymentDescriptor
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.plans.clear_command import clear_command
from graph_compiler.deployment.plans.subplans import staged_inputs
from graph_compiler.identifiers import TaskName

DAY = "2013-01-01T00:00:00+00:00"
NAMES = (TaskName("kept"), TaskName("out"))


def tasks() -> tuple[TaskDeploymentDescriptor, ...]:
    """in → kept ║ out."""
    env = StreamExecutionEnvironment("p")
    kept = env.from_source(Csv("/in"), "in").filter("v > 1").name("kept").stage("expensive")
    kept.sink_to(Parquet("/out")).name("out")
    return tuple(
        TaskDeploymentDescriptor(
            version=VERSION,
            identity=RunIdentity.own("p", "r"),
            region=region,
            attempt=ExecutionAttempt(execution_id="e", attempt_number=0),
            staging_root="/staging",
            parameters=(),
            logical_date=DAY,
        )
        for region in describe_regions(compile_pipeline(env.pipeline()))
    )


@pytest.fixture
def task() -> TaskDeploymentDescriptor:
    return tasks()[1]


def test_a_run_is_cleared_by_its_date_and_dots_are_literal(task: TaskDeploymentDescriptor) -> None:
    grouped = replace(task, identity=replace(task.identity, dag_id="d", group_path="eu"))
    words = shlex.split(clear_command(grouped, NAMES))
    assert words[:3] == ["airflow", "tasks", "clear"]
    assert words[-3:] == ["-t", "^(eu[.]kept|eu[.]out)$", "d"]
    assert (words[words.index("-s") + 1], words[words.index("-e") + 1]) == (DAY, DAY)


def test_a_run_without_a_date_is_cleared_in_the_page(task: TaskDeploymentDescriptor) -> None:
    said = clear_command(replace(task, logical_date=None), NAMES)
    assert said.startswith("in Airflow's UI, clear kept and out of run 'r', downstream tasks")


def test_a_run_with_a_map_index_is_cleared_in_the_page_whatever_its_date(task: TaskDeploymentDescriptor) -> None:
    mapped = replace(task, identity=replace(task.identity, map_index=3))
    said = clear_command(mapped, NAMES)
    assert said.startswith("in Airflow's UI, clear kept and out of run 'r' of 'p', those with map")
    assert "index 3" in said


def test_a_task_reads_the_results_of_others_and_not_its_own() -> None:
    producer, consumer = tasks()
    (result,) = producer.region.results
    assert staged_inputs(producer.region) == ()
    assert staged_inputs(consumer.region) == (result.id,)
    both = replace(consumer.region, results=producer.region.results)
    assert staged_inputs(both) == ()
