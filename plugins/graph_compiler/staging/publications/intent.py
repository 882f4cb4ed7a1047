"""A publication to a folder, as recorded in its ledger."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from graph_compiler.deployment.documents.wire import ABSENT
from graph_compiler.staging.publications.publications import Publication

WHOLE = "."
"""The target itself, among the folders an intent replaces."""
MARKER = "empty-"
"""The prefix of marker files' names: for people, and to recognize those of intents that do not list them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent(Publication):
    """Files to add and to remove, by their names in the target.

    `prepared` holds one folder, with the new files under those names, which have `columns` (name and type). To remove
    what is behind a link, `remove` names the link. `replaces` are the folders of the target, `.` for all
    of it, whose files all go: where the file system can, they are exchanged for the new ones in one step. `markers` are
    those of `add` that contain only the columns, until there are rows; None in older intents, which do not list them.
    `merged`: the new files also hold the rows of all others, so no single run may take them back.
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

    For an intent that does not list them, recognize them by name: it names only files of its own execution.
    """
    if markers is not None:
        return frozenset(markers)
    return frozenset(name for name in add if name.startswith(MARKER) and "/" not in name)


def ended() -> bool:
    """Return that no publication is open, for a carrier that is not told (`is_open`): then it takes nothing back."""
    return False
