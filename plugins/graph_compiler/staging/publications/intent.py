"""A publication to a folder, as recorded in its ledger."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from graph_compiler.deployment.documents.wire import ABSENT
from graph_compiler.staging.publications.publications import Publication

WHOLE = "."
"""The target itself, among the folders an intent replaces."""
MARKER = "empty-"
"""How names of marker files begin: for people, and to know those of intents that do not list them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent(Publication):
    """Files to add and to remove, by their names in the target.

    `prepared` holds one folder, with the new files under those names, which have `columns` (name and type). `remove`
    names a link where what is behind it goes from the target. `replaces` are the folders of the target, `.` for all of
    it, whose files all go: where the file system can, they are exchanged for the new ones at once. `markers` are those
    of `add` that only say which columns there are, until there are rows; None in intents of before they were listed.
    `merged`: the new files hold the rows of all others, too, so they are never one run's to take back.
    """

    prepared: str
    columns: tuple[tuple[str, str], ...]
    add: tuple[str, ...]
    remove: tuple[str, ...]
    replaces: tuple[str, ...]
    markers: tuple[str, ...] | None = field(default=None, metadata={ABSENT: None})
    merged: bool = field(default=False, metadata={ABSENT: False})


def marker_files(add: Iterable[str], markers: Iterable[str] | None) -> frozenset[str]:
    """Return the files of an intent that only contain the columns.

    Of an intent that does not list them, those that such files were called: it names no files but its own execution's.
    """
    if markers is not None:
        return frozenset(markers)
    return frozenset(name for name in add if name.startswith(MARKER) and "/" not in name)
