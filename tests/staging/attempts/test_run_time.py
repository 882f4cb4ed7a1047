"""The one "now" of a run: every task gets the time of its first task's clock (decision 22)."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from graph_compiler import Parquet, Range, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.descriptor import VERSION, ExecutionAttempt, TaskDeploymentDescriptor
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.errors import DamagedDocumentError
from graph_compiler.staging.attempts.run_marker import RunMarker, RunTimeReading, find_marker, run_time
from graph_compiler.staging.store.in_memory_store import InMemoryStore

NEW_YEAR = datetime(2013, 1, 1, tzinfo=UTC)


@pytest.fixture
def task() -> TaskDeploymentDescriptor:
    env = StreamExecutionEnvironment("p")
    env.from_source(Range(0, 1), "in").sink_to(Parquet("/out")).name("out")
    (region,) = describe_regions(compile_pipeline(env.pipeline()))
    return TaskDeploymentDescriptor(
        version=VERSION,
        identity=RunIdentity.own("p", "r"),
        region=region,
        attempt=ExecutionAttempt(execution_id="e", attempt_number=0),
        staging_root="/staging",
        parameters=(),
    )


def test_every_host_gets_the_time_of_the_first_hosts_clock(task: TaskDeploymentDescriptor) -> None:
    store = InMemoryStore()
    first = RunTimeReading(host="one", time=NEW_YEAR.timestamp())
    later = RunTimeReading(host="two", time=first.time + 3600)
    retry = replace(task, attempt=ExecutionAttempt(execution_id="again", attempt_number=1))
    assert run_time(store, task, first) == NEW_YEAR
    assert run_time(store, retry, later) == NEW_YEAR


def test_a_time_is_kept_to_the_microsecond(task: TaskDeploymentDescriptor) -> None:
    now = NEW_YEAR.replace(microsecond=123_457)
    assert run_time(InMemoryStore(), task, RunTimeReading(host="one", time=now.timestamp())) == now


def test_the_record_that_a_task_puts_is_that_of_its_run(task: TaskDeploymentDescriptor) -> None:
    store = InMemoryStore()
    run_time(store, task, RunTimeReading(host="one", time=7))
    found = find_marker(store, task.layout)
    assert found is not None
    assert found == RunMarker.of(task, host="one", time=7)
    assert (found.root, found.identity, found.plan_id) == ("/staging", task.identity, task.region.plan_id)


def test_a_record_that_cannot_be_read_is_not_replaced_by_another_time(task: TaskDeploymentDescriptor) -> None:
    store = InMemoryStore()
    store.put(task.layout.marker, b"{")
    with pytest.raises(DamagedDocumentError, match="clear a task of the run"):
        run_time(store, task, RunTimeReading(host="one", time=7))
    assert store.get(task.layout.marker) == b"{"
