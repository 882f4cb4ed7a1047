"""One driver for each execution: a second one commits nothing."""

import os
from pathlib import Path

import pytest

from graph_compiler import Parquet, Range, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.descriptor import VERSION, ExecutionAttempt, TaskDeploymentDescriptor
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.errors import ExecutionClaimedError
from graph_compiler.staging.attempts.execution_order import claim_execution
from graph_compiler.staging.store.in_memory_store import InMemoryStore
from graph_compiler.staging.store.local_store import LocalStore


@pytest.fixture
def task(tmp_path: Path) -> TaskDeploymentDescriptor:
    env = StreamExecutionEnvironment("p")
    env.from_source(Range(0, 1), "in").sink_to(Parquet("/out")).name("out")
    (region,) = describe_regions(compile_pipeline(env.pipeline()))
    return TaskDeploymentDescriptor(
        version=VERSION,
        identity=RunIdentity.own(region.pipeline, "r"),
        region=region,
        attempt=ExecutionAttempt(execution_id="e", attempt_number=0),
        staging_root=str(tmp_path),
        parameters=(),
    )


def test_the_second_driver_is_told_which_was_first(task: TaskDeploymentDescriptor) -> None:
    claim_execution(LocalStore(), task)
    with pytest.raises(ExecutionClaimedError, match=f"'out' has a driver already: process {os.getpid()} on "):
        claim_execution(LocalStore(), task)


@pytest.mark.parametrize("content", [b"", b"[]", b'{"host": 7}'])
def test_an_unreadable_claim_counts(task: TaskDeploymentDescriptor, content: bytes) -> None:
    LocalStore().put(task.layout.execution(task.region.region_id, "e") + "/driver.json", content)
    with pytest.raises(ExecutionClaimedError, match="one whose claim cannot be read"):
        claim_execution(LocalStore(), task)


class ForgetfulStore(InMemoryStore):
    """Stores a document, and loses the answer: the request is repeated, and finds the document."""

    def put_if_absent(self, key: str, content: bytes) -> bool:
        super().put_if_absent(key, content)
        return super().put_if_absent(key, content)


def test_a_driver_that_finds_its_own_claim_owns_the_execution(task: TaskDeploymentDescriptor) -> None:
    claim_execution(ForgetfulStore(), task)
