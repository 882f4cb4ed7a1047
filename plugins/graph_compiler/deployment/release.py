"""The last consumer of a staged result releases it (DESIGN D13), where `staging.release` says so.

    report.json of this execution  →  have all that read it finished?  →  record  →  data goes

Every reader's report is written before it asks, so of two that finish at once at least one sees both. Nothing of it can
fail a task, and what a crash leaves on the way `graph-compiler staging gc` finds: data whose release is recorded is not
read again, but computed anew by whoever needs it.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from graph_compiler.declaration.retention import StagingRelease
from graph_compiler.deployment.commit_store import CommitStore
from graph_compiler.deployment.descriptor import StagedInput, TaskDeploymentDescriptor
from graph_compiler.deployment.executions import executions
from graph_compiler.deployment.manifest import Manifest
from graph_compiler.deployment.report import ExecutionReport, RecomputedResult
from graph_compiler.deployment.staging_layout import StagingLayout
from graph_compiler.deployment.values_within import values_within
from graph_compiler.deployment.wire import from_json, to_json
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import IntermediateDataSetId, RegionId


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedResult:
    """The record of a release: which epoch, by whom, and when (seconds since the epoch). `bytes` were its data."""

    result_id: IntermediateDataSetId
    epoch: int
    region_id: RegionId
    execution_id: str
    time: float
    bytes: int

    def words(self) -> str:
        """Say it in one line."""
        return (
            f"epoch {self.epoch} of {self.result_id} was released by its last consumer, "
            f"'{self.region_id}' (execution {self.execution_id})"
        )


def release_inputs(
    task: TaskDeploymentDescriptor, report: ExecutionReport, store: CommitStore
) -> Iterator[ReleasedResult]:
    """Release what this execution has read or computed again, and all others have finished with."""
    if task.region.retention.release is not StagingRelease.LAST_CONSUMER or report.failure:
        return
    run = Path(task.layout.run)
    for result_id, consumers in _consumers(task, report.recomputed).items():
        if all(_has_finished(run, region_id) for region_id in consumers):
            yield from _release(task, result_id, store)
    _remove_fixed_rows(task)


def find_release(
    store: CommitStore, layout: StagingLayout, result_id: IntermediateDataSetId, epoch: int
) -> ReleasedResult | None:
    """Give the record of a release, None where there was none."""
    content = store.get(layout.released(result_id, epoch))
    return None if content is None else from_json(ReleasedResult, content)


def _remove_fixed_rows(task: TaskDeploymentDescriptor) -> None:
    """Remove what this execution staged for itself (DESIGN D9): no other reads it, and it has ended."""
    for folder in Path(task.layout.run, "data").glob("*"):
        if folder.name.endswith(f"-{task.attempt.execution_id}"):
            shutil.rmtree(folder, ignore_errors=True)


def _consumers(
    task: TaskDeploymentDescriptor, recomputed: tuple[RecomputedResult, ...]
) -> dict[IntermediateDataSetId, tuple[RegionId, ...]]:
    """Give the readers of what an execution has read, and of what it computed on the way to that."""
    found = {staged.id: staged.consumers for staged in values_within(task.region, StagedInput)}
    for again in recomputed:
        if again.result_id not in found:
            last = executions(Path(task.layout.run), again.producer)[-1]
            path = task.layout.descriptor(again.producer, last.execution_id)
            producer = TaskDeploymentDescriptor.from_json(Path(path).read_text())
            (result,) = (one for one in producer.region.results if one.id == again.result_id)
            found[result.id] = result.consumers
    return found


def _has_finished(run: Path, region_id: RegionId) -> bool:
    attempts = executions(run, region_id)
    return bool(attempts) and attempts[-1].state is ExecutionState.FINISHED


def _release(
    task: TaskDeploymentDescriptor, result_id: IntermediateDataSetId, store: CommitStore
) -> Iterator[ReleasedResult]:
    """Record the release of the last epoch, then remove the data of all: earlier ones nobody reads any more."""
    layout = task.layout
    contents = [store.get(key) for key in store.keys(layout.manifests(result_id))]
    manifests = sorted(
        (from_json(Manifest, content) for content in contents if content),
        key=lambda manifest: manifest.epoch,
    )
    if not manifests:
        return
    record = ReleasedResult(
        result_id=result_id,
        epoch=manifests[-1].epoch,
        region_id=task.region.region_id,
        execution_id=task.attempt.execution_id,
        time=time.time(),
        bytes=manifests[-1].bytes,
    )
    is_first = store.put_if_absent(
        layout.released(result_id, record.epoch), to_json(record).encode()
    )
    for manifest in manifests:
        if Path(layout.run) in Path(manifest.location).parents:
            shutil.rmtree(manifest.location, ignore_errors=True)
    if is_first:
        yield record
