"""One driver for an execution: whoever comes second commits nothing."""

import os
from pathlib import Path

import pytest

from graph_compiler import Parquet, Range, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.descriptor import (
    VERSION,
    ExecutionAttempt,
    TaskDeploymentDescriptor,
)
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.errors import ExecutionClaimedError
from graph_compiler.staging.executions.driver_claim import claim_execution
from graph_compiler.staging.store.local_store import LocalStore


def test_the_second_driver_learns_who_was_first(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment("p")
    env.from_source(Range(0, 1), "in").sink_to(Parquet("/out")).name("out")
    (region,) = describe_regions(compile_pipeline(env.pipeline()))
    task = TaskDeploymentDescriptor(
        version=VERSION,
        identity=RunIdentity.own(region.pipeline, "r"),
        region=region,
        attempt=ExecutionAttempt(execution_id="e", attempt_number=0),
        staging_root=str(tmp_path),
        parameters=(),
    )
    claim_execution(LocalStore(), task)
    with pytest.raises(
        ExecutionClaimedError, match=f"'out' has a driver already: process {os.getpid()} on "
    ):
        claim_execution(LocalStore(), task)
