"""The documents of attempts at a run's tasks in the staging root, as far as this server can read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import PurePath

from graph_compiler.deployment.documents.progress import CurrentStep
from graph_compiler.deployment.documents.report import ActionMetrics, ExecutionReport, Output, VertexMetrics
from graph_compiler.deployment.documents.staging_layout import DESCRIPTOR, StagingLayout
from graph_compiler.deployment.documents.stream import PublishedBatch
from graph_compiler.errors import GraphCompilerError
from graph_compiler.explain.documents.view_run import (
    ViewBatch,
    ViewContractRun,
    ViewOperatorRun,
    ViewOutputRun,
    ViewSlowestTask,
    ViewStep,
    ViewVertexRun,
    ViewWork,
)
from graph_compiler.identifiers import IntermediateDataSetId, RegionId, name_of_segment
from graph_compiler.staging.attempts.attempt import Attempt
from graph_compiler.staging.attempts.attempt_documents import KeptExecution
from graph_compiler.staging.attempts.attempts import executions, kept_executions
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.staging.store.stores import store_of

_KEPT = 4_000
"""The number of regions whose attempts are cached; up to this many, only documents that have changed are read again."""
_MOST_BYTES = 16_000_000
"""The maximum bytes of one document; one with 1,000 vertices has half a million."""
_MOST_OF_RUN = 128_000_000
"""The maximum bytes of all documents of a run that one request reads."""
_MOST_ENTRIES = 10_000
"""The maximum number of tasks of a run."""
_MOST_FILES = 100_000
"""The maximum number of documents of a task's attempts."""
Signature = tuple[tuple[str, float, int], ...]
"""Key, time and size of every document of a region: cached attempts are valid until one of them differs."""

_Found = tuple[tuple[Attempt, ...], Mapping[str, KeptExecution]]
_NOTHING: _Found = ((), {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Documents:
    """The attempts at each region; `are_there` is false if this server does not see the folder of the run.

    `kept` are the executions that repeated nothing, by id. `tasks` have a folder, and `tasks_read` of them were read;
    one request may not read more.
    """

    are_there: bool
    attempts: Mapping[RegionId, tuple[Attempt, ...]]
    kept: Mapping[RegionId, Mapping[str, KeptExecution]] = field(default_factory=dict)
    tasks: int = 0
    tasks_read: int = 0


def read_documents(layout: StagingLayout) -> Documents:
    """Read the folder of a run; a region whose documents cannot be read here has no attempts."""
    store = store_of(layout.root)
    try:
        is_there = store.is_there(layout.run)
        names = store.folders(layout.tasks) if is_there else []
    except (OSError, GraphCompilerError):
        return Documents(are_there=False, attempts={})
    attempts: dict[RegionId, tuple[Attempt, ...]] = {}
    kept: dict[RegionId, Mapping[str, KeptExecution]] = {}
    left, read = _MOST_OF_RUN, 0
    for name in names[:_MOST_ENTRIES]:
        region_id = RegionId(name_of_segment(name) or name)
        signature = _signature(store, layout, region_id)
        left -= sum(size for _, _, size in signature or ())
        read += left >= 0
        found, spared = _attempts(layout, region_id, signature) if left >= 0 else _NOTHING
        if found or signature != ():
            attempts[region_id] = found
            kept[region_id] = spared
    begun = {id: min((one.started for one in found), default=0.0) for id, found in attempts.items()}
    ordered = sorted(attempts, key=lambda id: (begun[id], id))
    return Documents(
        are_there=is_there, attempts={id: attempts[id] for id in ordered}, kept=kept, tasks=len(names), tasks_read=read
    )


def _attempts(layout: StagingLayout, region_id: RegionId, signature: Signature | None) -> _Found:
    try:
        return _NOTHING if signature is None else _read(layout, region_id, signature)
    except (OSError, GraphCompilerError):
        return _NOTHING  # it belongs to another user or version, is not a document, or is being removed


@lru_cache(maxsize=_KEPT)
def _read(layout: StagingLayout, region_id: RegionId, _signature: Signature) -> _Found:
    store = store_of(layout.root)
    return executions(store, layout, region_id), kept_executions(store, layout, region_id)


def _signature(store: StagingStore, layout: StagingLayout, region_id: RegionId) -> Signature | None:
    """Return the signature of a region's documents; None if they cannot be read here."""
    try:
        files = list(store.files(layout.executions(region_id), most=_MOST_FILES))
    except (OSError, GraphCompilerError):
        return None
    found = sorted((file.key, file.written, file.bytes) for file in files)
    is_told = any(key.endswith(f"/{DESCRIPTOR}") for key, _, _ in found)
    if any(size > _MOST_BYTES for _, _, size in found):
        return None
    return tuple(found) if is_told else ()


def vertex_view(vertex: VertexMetrics) -> ViewVertexRun:
    """Return a vertex, with its operators."""
    return ViewVertexRun(
        id=vertex.vertex_id,
        rows=vertex.rows,
        seconds=vertex.seconds,
        operators=tuple(
            ViewOperatorRun(
                name=one.name,
                rows_in=one.rows_in,
                rows_out=one.rows_out,
                side_rows=one.side_rows,
                may_be_too_high=one.may_be_too_high,
            )
            for one in vertex.operators
        ),
    )


def batch_view(batch: PublishedBatch) -> ViewBatch:
    """Return a batch of a stream."""
    known = batch.progress
    return ViewBatch(
        number=batch.number,
        rows_in=known.rows_in if known else None,
        rows_out=batch.rows,
        late=batch.late,
        watermark=known.watermark if known else None,
        state_rows=known.state_rows if known else None,
        state_bytes=known.state_bytes if known else None,
        behind=known.behind if known else None,
        waited=known.waited if known else None,
        seconds=batch.seconds,
    )


def output_view(output: Output) -> ViewOutputRun:
    """Return an output; a staged one with its result."""
    # Staged data is in <result id>/epoch-<n>-<execution id> (staging_layout.py).
    is_staged = output.kind == "staged"
    folder = PurePath(output.location).parent.name
    return ViewOutputRun(
        kind=output.kind,
        name=output.name,
        location=output.place,
        rows=output.rows,
        bytes=output.bytes,
        result=IntermediateDataSetId(folder) if is_staged else None,
    )


def contracts_view(report: ExecutionReport) -> tuple[ViewContractRun, ...]:
    """Return the counts of contracts."""
    return tuple(
        ViewContractRun(
            name=one.contract,
            violations=one.violations,
            rows=one.rows,
            on_violation=one.on_violation,
            found=one.allowed and f"{one.total or ''}, allowed: {one.allowed}".removeprefix(", "),
        )
        for one in report.contracts
    )


def work_view(actions: Sequence[ActionMetrics]) -> ViewWork:
    """Return the sums over Spark actions."""
    return ViewWork(
        tasks=sum(one.tasks for one in actions),
        failed_tasks=sum(one.failed_tasks for one in actions),
        repeated_stages=sum(one.repeated_stages for one in actions),
        input_bytes=sum(one.input_bytes for one in actions),
        spilled_bytes=sum(one.spilled_bytes for one in actions),
        shuffled_bytes=sum(one.shuffle_written_bytes for one in actions),
        slowest_task=_slowest_task(actions),
    )


def _slowest_task(actions: Sequence[ActionMetrics]) -> ViewSlowestTask | None:
    found = ((one.operator, one.slowest_task) for one in actions if one.slowest_task)
    operator, slowest = max(found, key=lambda each: each[1].excess, default=(None, None))
    if operator is None or slowest is None:
        return None
    return ViewSlowestTask(
        operator=operator,
        stage_id=slowest.stage_id,
        tasks=slowest.tasks,
        median_seconds=slowest.median_seconds,
        longest_seconds=slowest.longest_seconds,
        is_skewed=slowest.is_skewed,
    )


def step_view(step: CurrentStep) -> ViewStep:
    """Return what a driver is doing."""
    return ViewStep(operator=step.operator, phase=step.phase, since=step.since)
