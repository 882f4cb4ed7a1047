"""Tries of a task with several regions, whose driver runs in this process."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pyspark.sql import SparkSession

from graph_compiler.deployment.describe.local_task import DeskRun, desk_task
from graph_compiler.deployment.documents.descriptor import RegionDescriptor, TaskDeploymentDescriptor
from graph_compiler.deployment.documents.report import Outcome
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.spark_runtime.main import run_task
from graph_compiler.staging.attempts.execution_order import begin, claim_execution
from graph_compiler.staging.store.local_store import LocalStore

STORE = LocalStore()


def execution_of(region: RegionDescriptor, folder: Path, number: int) -> TaskDeploymentDescriptor:
    """Return a region's execution in the try with this number; its staging root is in the folder."""
    run = DeskRun(day="2024-01-01", params={}, run_id="r", staging_root=f"{folder}/staging")
    return desk_task(region, run, execution_id=f"e{number}")


def run_try(regions: Sequence[RegionDescriptor], folder: Path, number: int, spark: SparkSession) -> list[str]:
    """Run the regions as one try of their task, and record its outcomes; return the messages of the failures."""
    tasks = [
        replace(execution_of(region, folder, number), try_number=number, turn=turn)
        for turn, region in enumerate(regions)
    ]
    for task in tasks:
        begin(STORE, task)
    claim_execution(STORE, tasks[0])
    failures = run_task(tasks, spark)
    failed = {task.region.region_id for task, _ in failures}
    for task in tasks:
        id = task.region.region_id
        state = ExecutionState.FAILED if id in failed else ExecutionState.FINISHED
        key = task.layout.execution(id, task.attempt.execution_id) + "/outcome.json"
        outcome = Outcome(state=state, ended=0.0, reason=None)
        STORE.put_if_absent(key, to_json(outcome).encode())
    return [failure.message for _, failure in failures]
