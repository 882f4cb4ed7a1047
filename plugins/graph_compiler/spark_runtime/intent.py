"""What an execution is about to do to a folder, as its ledger keeps it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from graph_compiler.deployment.publications import Publication

WHOLE = "."
"""The target itself, among the folders an intent replaces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent(Publication):
    """Files to add and to remove, by their names in the target.

    `prepared` holds one folder, with the new files under those names, which have `columns` (name and type). `replaces`
    are the folders of the target, `.` for all of it, whose files all go: where the file system can, they are exchanged
    for the new ones at once.
    """

    prepared: str
    columns: tuple[tuple[str, str], ...]
    add: tuple[str, ...]
    remove: tuple[str, ...]
    replaces: tuple[str, ...]


def data_files(target: Path) -> frozenset[str]:
    """List the files readers of the target see, those of partition folders too; `_` and `.` hide from Spark."""
    found: set[str] = set()
    for name, folders, files in os.walk(target):  # folders that go meanwhile are passed over
        folders[:] = [folder for folder in folders if not is_hidden(folder)]
        inside = Path(name).relative_to(target)
        found.update(str(inside / file) for file in files if not is_hidden(file))
    return frozenset(found)


def is_hidden(name: str) -> bool:
    """Say whether Spark's readers pass over a name."""
    return name[0] in "_."
