"""Which files of a project have changed since a moment: those that a pipeline is made of, by size and time."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

Snapshot: TypeAlias = Mapping[str, tuple[int, int, int]]
"""Files with their inode, size and time."""

_ENDINGS = (".py", ".yaml", ".yml", ".sql", ".json", ".toml", ".cfg", ".jar", ".zip", ".whl")
_NOT_LOOKED_AT = frozenset({"__pycache__", "node_modules", "site-packages", "spark-warehouse"})
_MOST_FILES = 20_000
_POLL_SECONDS, _QUIET_SECONDS = 0.25, 0.1


def take_snapshot(folder: Path) -> Snapshot:
    """Return the files below a folder that may be part of a pipeline; hidden folders are left out."""
    found: dict[str, tuple[int, int, int]] = {}
    for path in _files(str(folder)):
        try:
            state = os.stat(path)
        except OSError:  # just removed, or a link to nothing
            continue
        found[os.path.relpath(path, folder)] = (state.st_ino, state.st_size, state.st_mtime_ns)
        if len(found) == _MOST_FILES:
            break
    return found


def wait_for_change(folder: Path, before: Snapshot) -> str:
    """Return a file that differs from before, or is new or gone; waits until writing has ended."""
    while (now := take_snapshot(folder)) == before:
        time.sleep(_POLL_SECONDS)
    changed = next(name for name in {**now, **before} if now.get(name) != before.get(name))
    while True:  # an editor may write several files, or one in several steps
        time.sleep(_QUIET_SECONDS)
        if (later := take_snapshot(folder)) == now:
            return changed
        now = later


def _files(folder: str) -> Iterator[str]:
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _NOT_LOOKED_AT)
        for name in files:
            if name.endswith(_ENDINGS):
                yield os.path.join(parent, name)
