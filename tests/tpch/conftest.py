"""The tables of TPC-H, and a runner of whole pipelines: each task as its driver runs it, with all of its regions."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration import Pipeline
from graph_compiler.deployment.describe.local_task import DeskRun, desk_task
from graph_compiler.deployment.describe.region_descriptors import describe_pipeline
from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.spark_runtime.main import run_task
from graph_compiler.staging.attempts.execution_order import begin, claim_execution
from graph_compiler.staging.store.local_store import LocalStore
from tests.conftest import mark
from tests.harness.judged_columns import columns_are_judged_rightly
from tests.harness.shown_log import shown_log
from tests.tpch.tables import write_tables

RunTasks = Callable[[Pipeline], None]
__all__ = ["columns_are_judged_rightly"]


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the eight tables."""
    folder = tmp_path_factory.mktemp("tpch")
    write_tables(folder)
    return folder


@pytest.fixture
def run_tasks(spark: SparkSession, tmp_path: Path) -> RunTasks:
    """Run the tasks of a pipeline in order, each from its descriptors' JSON; no region may fail."""
    store = LocalStore()

    def run(pipeline: Pipeline) -> None:
        desk_run = DeskRun(
            day="1998-12-01", params=dict(pipeline.params), run_id="run", staging_root=str(tmp_path / "staging")
        )
        for regions in describe_pipeline(compile_pipeline(pipeline)).tasks().values():
            described = (desk_task(region, desk_run, execution_id="e0") for region in regions)
            tasks = [
                TaskDeploymentDescriptor.from_json(replace(task, turn=turn).to_json())
                for turn, task in enumerate(described)
            ]
            mark(tasks[0])
            for task in tasks:
                begin(store, task)
            claim_execution(store, tasks[0])
            with shown_log():
                assert run_task(tasks, spark) == []

    return run
