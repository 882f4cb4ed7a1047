"""One try of an Airflow task: an execution of each of its regions, which one Spark application runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graph_compiler.deployment.documents.descriptor import RegionDescriptor, TaskDeploymentDescriptor
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.identifiers import TaskName
from graph_compiler.program_log import NAME, with_fields
from graph_compiler.staging.attempts.attempt_documents import AttemptDocuments
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.staging.store.stores import store_of


@dataclass(frozen=True, slots=True)
class TaskTry:
    """The executions, in the order in which they run; they have one id, and one run."""

    executions: Sequence[TaskDeploymentDescriptor]

    @property
    def first(self) -> TaskDeploymentDescriptor:
        """The first execution; all are of the same run, pipeline and plan."""
        return self.executions[0]

    @property
    def execution_id(self) -> str:
        """The id of all its executions."""
        return self.first.attempt.execution_id

    @property
    def task_name(self) -> TaskName:
        """The name of the task in its pipeline."""
        return self.first.region.task_name

    @property
    def pipeline(self) -> str:
        """The name of the pipeline."""
        return self.first.region.pipeline

    @property
    def regions(self) -> tuple[RegionDescriptor, ...]:
        """The regions, with rendered places."""
        return tuple(each.region for each in self.executions)

    @property
    def layout(self) -> StagingLayout:
        """The paths of the run."""
        return self.first.layout

    @property
    def store(self) -> StagingStore:
        """The store of the staging root."""
        return store_of(self.first.staging_root)

    @property
    def documents(self) -> tuple[AttemptDocuments, ...]:
        """The documents of the executions."""
        return tuple(map(AttemptDocuments.of, self.executions))

    @property
    def descriptors(self) -> tuple[str, ...]:
        """The keys of the descriptors: the arguments of the application."""
        return tuple(documents.descriptor for documents in self.documents)

    def log_line(self, message: str) -> str:
        """Return a line for the task's log, with what it is about."""
        identity = self.first.identity
        about = {"pipeline": identity.owner, "run": identity.run_id, "task": self.task_name}
        return f"{NAME}: {with_fields(message, about)}"
