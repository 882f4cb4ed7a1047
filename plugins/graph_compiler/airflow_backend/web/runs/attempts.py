"""The documents of attempts at a run's tasks in the staging root, as far as this server can read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from graph_compiler.deployment.documents.staging_layout import DESCRIPTOR, StagingLayout
from graph_compiler.errors import GraphCompilerError
from graph_compiler.identifiers import RegionId, name_of_segment
from graph_compiler.staging.executions.executions import executions, kept_executions
from graph_compiler.staging.executions.kept_executions import KeptExecution
from graph_compiler.staging.executions.region_execution import RegionExecution
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

_Found = tuple[tuple[RegionExecution, ...], Mapping[str, KeptExecution]]
_NOTHING: _Found = ((), {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Documents:
    """The attempts at each region; `are_there` is false if this server does not see the folder of the run.

    `kept` are the executions that repeated nothing, by id. `tasks` have a folder, and `tasks_read` of them were read;
    one request may not read more.
    """

    are_there: bool
    attempts: Mapping[RegionId, tuple[RegionExecution, ...]]
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
    attempts: dict[RegionId, tuple[RegionExecution, ...]] = {}
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
        are_there=is_there,
        attempts={id: attempts[id] for id in ordered},
        kept=kept,
        tasks=len(names),
        tasks_read=read,
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
