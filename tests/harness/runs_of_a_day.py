"""Tries of runs of one pipeline, each with its own date, whose drivers run in this process."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pyspark.sql import SparkSession

from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.parameters.parameter import ParameterValue
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.deployment.describe.local_task import DeskRun, desk_task
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.descriptor import RegionDescriptor, TaskDeploymentDescriptor
from graph_compiler.deployment.documents.report import Failure, Outcome
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.spark_runtime.main import run_task
from graph_compiler.staging.attempts.execution_order import begin, claim_execution
from graph_compiler.staging.store.local_store import LocalStore

STORE = LocalStore()


@dataclass(kw_only=True)
class RunsOfADay:
    """The runs of a pipeline: `run("monday", "2024-01-01")` is the first try of all its tasks, or a cleared one."""

    spark: SparkSession
    folder: Path
    params: Mapping[str, ParameterValue] = field(default_factory=dict)
    tries: dict[str, int] = field(default_factory=dict)

    def tasks(self, pipeline: Pipeline) -> list[list[RegionDescriptor]]:
        """Return the regions of each task, in an order in which they can run."""
        compiled = compile_pipeline(pipeline)
        by_id = {region.region_id: region for region in describe_regions(compiled)}
        return [[by_id[id] for id in task.region_ids] for task in compiled.deployment.tasks]

    def run(self, pipeline: Pipeline, run_id: str, date: str | None) -> list[Failure]:
        """Run all tasks once, until one fails; return its failures."""
        for regions in self.tasks(pipeline):
            if failures := self.attempt(regions, run_id, date):
                return failures
        return []

    def attempt(self, regions: Sequence[RegionDescriptor], run_id: str, date: str | None) -> list[Failure]:
        """Run the regions of one task in a new try; return the failures."""
        tasks = self.begin(regions, run_id, date)
        failures = run_task(tasks, self.spark)
        self.end(tasks, {task.region.region_id for task, _ in failures})
        return [failure for _, failure in failures]

    def begin(
        self, regions: Sequence[RegionDescriptor], run_id: str, date: str | None
    ) -> list[TaskDeploymentDescriptor]:
        """Return the executions of a new try, which have begun."""
        number = self.tries[run_id] = self.tries.get(run_id, 0) + 1
        desk = DeskRun(
            day=(date or "2024-01-01")[:10], params=self.params, run_id=run_id, staging_root=f"{self.folder}/staging"
        )
        tasks = [
            replace(
                desk_task(region, desk, execution_id=f"{run_id}-{number}"),
                try_number=number,
                turn=turn,
                logical_date=date,
            )
            for turn, region in enumerate(regions)
        ]
        for task in tasks:
            begin(STORE, task)
        claim_execution(STORE, tasks[0])
        return tasks

    def end(self, tasks: Sequence[TaskDeploymentDescriptor], failed: set[str]) -> None:
        """Record the outcomes of a try, as its task does."""
        for task in tasks:
            id = task.region.region_id
            state = ExecutionState.FAILED if id in failed else ExecutionState.FINISHED
            key = task.layout.execution(id, task.attempt.execution_id) + "/outcome.json"
            STORE.put_if_absent(key, to_json(Outcome(state=state, ended=0.0, reason=None)).encode())
