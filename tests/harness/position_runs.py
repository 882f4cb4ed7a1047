"""Runs of a pipeline whose sources read only what is new, each in tries whose driver runs in this process."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pyspark.sql import SparkSession

from graph_compiler import StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.parameters.parameter import ParameterValue
from graph_compiler.deployment.describe.local_task import DeskRun, desk_task
from graph_compiler.deployment.describe.region_descriptors import describe_pipeline
from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.documents.report import ExecutionReport, Outcome
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import PositionLayout
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import TaskName
from graph_compiler.spark_runtime.main import run_task
from graph_compiler.staging.attempts.attempt_documents import AttemptDocuments
from graph_compiler.staging.attempts.execution_order import begin, claim_execution
from graph_compiler.staging.positions.position_log import PositionLog
from graph_compiler.staging.store.local_store import LocalStore
from graph_compiler.staging.store.staging_store import StagingStore

STORE = LocalStore()


@dataclass
class Runs:
    """The runs of one pipeline, each for a day; its staging root is in the folder, or at a `place` of a store."""

    env: StreamExecutionEnvironment
    folder: Path
    spark: SparkSession
    params: Mapping[str, ParameterValue] = field(default_factory=dict)
    tries: int = 0
    day: str = "2024-01-01"
    store: StagingStore = STORE
    place: str | None = None

    def run(self, run_id: str, *only: str) -> list[str]:
        """Run the tasks of a run once, until one fails, or those named; return the messages of the failures."""
        described = describe_pipeline(compile_pipeline(self.env.pipeline()))
        for name, regions in described.tasks().items():
            if only and name not in map(TaskName, only):
                continue
            self.tries += 1
            run = DeskRun(day=self.day, params=self.params, run_id=run_id, staging_root=self.root)
            tasks = [desk_task(region, run, execution_id=f"e{self.tries}") for region in regions]
            tasks = [replace(task, try_number=self.tries, turn=turn) for turn, task in enumerate(tasks)]
            self.last = tasks
            if failed := self._try(tasks):
                return failed
        return []

    @property
    def root(self) -> str:
        return self.place or str(self.folder / "staging")

    def log(self, uid: str) -> PositionLog:
        """Return the position of a source."""
        layout = PositionLayout(root=self.root, owner=self.env.name, uid=uid)
        return PositionLog(store=self.store, layout=layout)

    def report(self) -> ExecutionReport:
        """Return the report of the last region that ran."""
        found = AttemptDocuments.of(self.last[-1]).read_report()
        assert found is not None
        return found

    def identity(self, run_id: str) -> RunIdentity:
        return RunIdentity.own(self.env.name, run_id)

    def _try(self, tasks: list[TaskDeploymentDescriptor]) -> list[str]:
        for task in tasks:
            begin(self.store, task)
        claim_execution(self.store, tasks[0])
        failures = run_task(tasks, self.spark)
        failed = {task.region.region_id for task, _ in failures}
        for task in tasks:
            state = ExecutionState.FAILED if task.region.region_id in failed else ExecutionState.FINISHED
            AttemptDocuments.of(task).put_outcome(Outcome(state=state, ended=0.0, reason=None))
        return [failure.message for _, failure in failures]


def tried(runs: Runs, run: str) -> list[str]:
    """Run until Spark's Python starts, for which it waits ten seconds: on a busy host that may be too short."""
    failures = runs.run(run)
    for _ in range(12):
        if "worker failed to connect back" not in str(failures):
            break
        failures = runs.run(run)
    return failures


def write(file: Path, *rows: object) -> None:
    """Write rows as JSON under a hidden name, and give the file its name when it is complete."""
    file.parent.mkdir(parents=True, exist_ok=True)
    hidden = file.with_name(f".{file.name}")
    hidden.write_text("".join(json.dumps(row) + "\n" for row in rows))
    hidden.rename(file)
