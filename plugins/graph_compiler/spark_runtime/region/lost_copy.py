"""A lost staged result that a region reads, and whether a new copy can take its place."""

from __future__ import annotations

from dataclasses import dataclass

from graph_compiler.deployment.documents.descriptor import (
    ResultDescriptor,
    StagedInput,
    TaskDeploymentDescriptor,
)
from graph_compiler.deployment.documents.manifest import Manifest
from graph_compiler.errors import PartitionNotFoundError
from graph_compiler.identifiers import TaskName
from graph_compiler.staging.results.restarts import RestartSet


@dataclass(frozen=True, slots=True, kw_only=True)
class LostCopy:
    """A lost staged result, the task that staged it, and what is known about it."""

    staged: StagedInput
    task_name: TaskName
    lost: PartitionNotFoundError
    manifest: Manifest | None
    restarts: RestartSet

    @property
    def can_be_compared(self) -> bool:
        """Whether a new copy can be compared with the lost one."""
        known = self.manifest
        return known is not None and (known.checksum is not None or known.deterministic)

    def cannot(self, reason: str) -> PartitionNotFoundError:
        """Return the error that this application cannot recompute it, with the reason."""
        return PartitionNotFoundError(
            f"{self.words}\n  it cannot be recomputed here: {reason}\n"
            f"  hint: clear the task '{self.task_name}', with its downstream tasks"
        )

    @property
    def words(self) -> str:
        """Return one line that names the lost result."""
        return str(self.lost).splitlines()[0]

    def result_of(self, producer: TaskDeploymentDescriptor) -> ResultDescriptor:
        """Return the producer's result; raises PartitionNotFoundError if the producer is of a different version."""
        for result in producer.region.results:
            if (result.id, result.fingerprint) == (self.staged.id, self.staged.fingerprint):
                return result
        raise self.cannot("that task ran another version of this pipeline")
