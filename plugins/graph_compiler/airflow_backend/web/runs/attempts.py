"""What the attempts at a run's tasks have left in the staging root, as far as this server sees and can read it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from graph_compiler.deployment.documents.staging_layout import (
    DESCRIPTOR,
    OUTCOME,
    PROGRESS,
    REPORT,
    SUBMISSION,
    executions_folder,
    order_folder,
)
from graph_compiler.errors import GraphCompilerError
from graph_compiler.identifiers import RegionId, name_of_segment
from graph_compiler.staging.executions.executions import RegionExecution, executions
from graph_compiler.staging.store.bounded_read import folders_in, names_in

_KEPT = 4_000
"""Regions whose attempts are remembered; a run of fewer is read anew only where it has changed."""
_MOST_BYTES = 16_000_000
"""Of one document; that of 1,000 vertices has half a million."""
_MOST_OF_RUN = 128_000_000
"""Of all documents of a run that are read for one request."""
_MOST_ENTRIES = 10_000
"""Tasks of a run, and attempts at a task."""
Signature = tuple[tuple[str, int, int], ...]
"""Path, time and size of every document of a region: what was read from them holds until one differs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Documents:
    """The attempts at each region; `are_there` false where the folder of the run cannot be seen."""

    are_there: bool
    attempts: Mapping[str, tuple[RegionExecution, ...]]


def read_documents(run: Path) -> Documents:
    """Read the folder of a run; a region whose documents cannot be read here has no attempts."""
    try:
        is_there = run.is_dir()
        names = folders_in(str(run / "tasks"), most=_MOST_ENTRIES) if is_there else []
    except (OSError, GraphCompilerError):
        return Documents(are_there=False, attempts={})
    attempts: dict[str, tuple[RegionExecution, ...]] = {}
    left = _MOST_OF_RUN
    for name in names:
        region_id = RegionId(name_of_segment(name) or name)
        signature = _signature(run, region_id)
        left -= sum(size for _, _, size in signature or ())
        found = _attempts(run, region_id, signature) if left >= 0 else ()
        if found or signature != ():
            attempts[region_id] = found
    begun = {id: min((one.started for one in found), default=0.0) for id, found in attempts.items()}
    ordered = sorted(attempts, key=lambda id: (begun[id], id))
    return Documents(are_there=is_there, attempts={id: attempts[id] for id in ordered})


def _attempts(
    run: Path, region_id: RegionId, signature: Signature | None
) -> tuple[RegionExecution, ...]:
    try:
        return () if signature is None else _read(run, region_id, signature)
    except (OSError, GraphCompilerError):
        return ()  # another user's, another version's, no document at all, or on its way to the trash


@lru_cache(maxsize=_KEPT)
def _read(run: Path, region_id: RegionId, _signature: Signature) -> tuple[RegionExecution, ...]:
    return executions(run, region_id)


def _signature(run: Path, region_id: RegionId) -> Signature | None:
    """Return what is there of a region, None where that cannot be read here."""
    folder = executions_folder(str(run), region_id)
    try:
        found = [
            (path, status.st_mtime_ns, status.st_size)
            for name in folders_in(folder, most=_MOST_ENTRIES)
            for document in (DESCRIPTOR, SUBMISSION, PROGRESS, REPORT, OUTCOME)
            if (status := _status(path := f"{folder}/{name}/{document}"))
        ]
        turns = names_in(order_folder(str(run), region_id), most=_MOST_ENTRIES)
    except (OSError, GraphCompilerError):
        return None
    if not found or any(size > _MOST_BYTES for _, _, size in found):
        return None if found else ()
    return (*sorted(found), *((name, 0, 0) for name in sorted(turns)))


def _status(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except FileNotFoundError:
        return None
