"""What the attempts at a run's tasks have left in the staging root, as far as this server sees and can read it."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from graph_compiler.deployment.executions import RegionExecution, executions, regions_of
from graph_compiler.deployment.staging_layout import (
    DESCRIPTOR,
    OUTCOME,
    PROGRESS,
    REPORT,
    SUBMISSION,
    executions_folder,
)
from graph_compiler.errors import GraphCompilerError
from graph_compiler.identifiers import RegionId

_KEPT = 4_000
"""Regions whose attempts are remembered; a run of fewer is read anew only where it has changed."""
_MOST_BYTES = 64_000_000
"""Of one document; that of 1,000 vertices has half a million."""
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
        if not run.is_dir():
            return Documents(are_there=False, attempts={})
        regions = regions_of(run)
    except (OSError, ValueError):  # ValueError: a region's folder has just been emptied
        return Documents(are_there=False, attempts={})
    return Documents(are_there=True, attempts={id: _attempts(run, id) for id in regions})


def _attempts(run: Path, region_id: RegionId) -> tuple[RegionExecution, ...]:
    try:
        return _read(run, region_id, _signature(run, region_id))
    except (OSError, GraphCompilerError, ValueError, LookupError, TypeError):
        return ()  # another user's, another version's, no document at all, or on its way to the trash


@lru_cache(maxsize=_KEPT)
def _read(run: Path, region_id: RegionId, _signature: Signature) -> tuple[RegionExecution, ...]:
    return executions(run, region_id)


def _signature(run: Path, region_id: RegionId) -> Signature:
    found = []
    for folder in Path(executions_folder(str(run), region_id)).glob("*"):
        for name in (DESCRIPTOR, SUBMISSION, PROGRESS, REPORT, OUTCOME):
            path = folder / name
            if path.exists():
                status = path.stat()
                if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST_BYTES:
                    raise OSError(f"{path} is no document")
                found.append((str(path), status.st_mtime_ns, status.st_size))
    return tuple(sorted(found))
