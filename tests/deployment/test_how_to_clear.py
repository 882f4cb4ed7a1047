"""How a person clears tasks of a run: by what is chosen in Airflow's UI, and by no command that clears others."""

from dataclasses import replace

import pytest

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.descriptor import VERSION, ExecutionAttempt, TaskDeploymentDescriptor
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.plans.how_to_clear import how_to_clear
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


def test_the_tasks_of_a_run_are_named_by_their_ids(task: TaskDeploymentDescriptor) -> None:
    grouped = replace(task, identity=replace(task.identity, dag_id="d", group_path="eu"))
    said = how_to_clear(grouped, NAMES)
    assert said.startswith("in Airflow's UI, clear eu.kept and eu.out of run 'r' of 'd', downstream tasks included")
    assert "its dialog lists the tasks" in said
    assert how_to_clear(replace(grouped, logical_date=None), NAMES) == said


def test_of_a_mapped_run_only_its_instance_is_cleared(task: TaskDeploymentDescriptor) -> None:
    mapped = replace(task, identity=replace(task.identity, map_index=3))
    assert "clear kept and out of run 'r' of 'p', with map index 3, downstream" in how_to_clear(mapped, NAMES)


def test_a_task_reads_the_results_of_others_and_not_its_own() -> None:
    producer, consumer = tasks()
    (result,) = producer.region.results
    assert staged_inputs(producer.region) == ()
    assert staged_inputs(consumer.region) == (result.id,)
    both = replace(consumer.region, results=producer.region.results)
    assert staged_inputs(both) == ()
