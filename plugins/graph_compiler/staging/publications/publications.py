"""Publications to targets of any kind, and their records in the ledgers below `.targets`.

`staging/publications/ledger.py` writes them. Each kind of target has a subclass, which only its sink uses.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Self

from graph_compiler.deployment.documents.jvm_settings import ZONE
from graph_compiler.deployment.documents.run_identity import RunIdentity, with_identity
from graph_compiler.deployment.documents.staging_layout import DONE, INTENT, TARGETS, StagingLayout
from graph_compiler.deployment.documents.wire import ABSENT
from graph_compiler.errors import DamagedDocumentError, PublicationPendingError
from graph_compiler.extensions import UNSAID
from graph_compiler.identifiers import OperatorId
from graph_compiler.staging.store.deferred_files import DeferredFile
from graph_compiler.staging.store.read_document import decode, decode_object
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.stores.known_stores import putting

GIVEN_UP = b'{"given_up": true}'
"""The record of an end if the target refused the publication, or its rows are lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """A change that one execution is about to make to a target; the subclasses have the details."""

    number: int
    identity: RunIdentity
    plan_id: str
    operator_id: OperatorId
    execution_id: str
    target: str
    rows: int
    bytes: int
    zone: str | None = field(default=ZONE, metadata={ABSENT: None})
    """That of the JVM which wrote the rows; None in records of versions that did not pin it."""
    batch: str | None = field(default=None, metadata={UNSAID: True})
    """The batch of a stream, which is repeated as a whole; None if its run is."""
    run_date: str | None = field(default=None, metadata={UNSAID: True})
    """The date of its run, in ISO form; None for a run without one, and in records of versions that had none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation(Publication):
    """A record that the publication of execution `earlier` of the same run stays.

    The target is not changed. It takes a number, so that no attempt that started earlier publishes after it.
    """

    earlier: str

    @classmethod
    def of(cls, earlier: Publication, instead_of: Publication) -> Self:
        """Return the confirmation of the run's publication, in place of what an execution was about to do."""
        common = {each.name: getattr(instead_of, each.name) for each in fields(Publication)}
        kept = {"rows": earlier.rows, "bytes": earlier.bytes, "zone": earlier.zone}
        first = earlier.earlier if isinstance(earlier, Confirmation) else earlier.execution_id
        return cls(**common | kept, earlier=first)


def undone_intents(store: StagingStore, root: str) -> Iterator[Publication]:
    """Yield unfinished publications of all targets: the next execution that writes one needs their rows.

    Unreadable ones cannot be carried out, and are skipped. Raises OtherVersionError for those of another version.
    """
    for key, is_done in intents(store, root):
        if not is_done:
            with suppress(DamagedDocumentError):
                yield read_publication(store, key)


def intents(store: StagingStore, root: str) -> Iterator[tuple[str, bool]]:
    """Yield the keys of the decided publications of all targets, without folded ones, and whether each has its end."""
    for name in store.folders(f"{root}/{TARGETS}"):
        keys = frozenset(store.keys(f"{root}/{TARGETS}/{name}"))
        for key in sorted(key for key in keys if key.endswith(INTENT)):
            yield key, key.removesuffix(INTENT) + DONE in keys


def is_published(store: StagingStore, layout: StagingLayout, target: str, execution_id: str) -> bool:
    """Whether an execution's publication to a target was carried out, as far as its ledger can be read."""
    for key in store.keys(layout.publications(target)):
        if key.endswith(INTENT):
            with suppress(DamagedDocumentError):
                is_its = read_publication(store, key).execution_id == execution_id
                done = key.removesuffix(INTENT) + DONE
                if is_its and ending(store, done) is Ending.CARRIED_OUT:
                    return True
    return False


def read_publication(store: StagingStore, key: str) -> Publication:
    """Return the common fields of a publication of any kind; raises DamagedDocumentError and OtherVersionError."""
    content = store.get(key)
    if content is None:
        raise DamagedDocumentError(key, "is gone")
    document = with_identity(decode_object(content, key))
    names = [each.name for each in fields(Publication)]
    common = {name: document[name] for name in names if name in document}
    kind = {"type": Publication.__name__} if isinstance(document.get("type"), str) else {}
    return decode(Publication, json.dumps(kind | common).encode(), key)


class Ending(StrEnum):
    """The outcome of a decided publication."""

    OPEN = "OPEN"
    CARRIED_OUT = "CARRIED_OUT"
    GIVEN_UP = "GIVEN_UP"


def ending(store: StagingStore, key: str) -> Ending:
    """Return the outcome in the record of an end; raises DamagedDocumentError with both possible fixes."""
    try:
        content = store.get(key)
        document = {} if content is None else decode_object(content, key)
    except DamagedDocumentError as error:
        raise error.hinting(
            f"if the rows are in the target: {putting('{}', key)}; if they are not: {putting(GIVEN_UP.decode(), key)}"
        ) from None
    if content is None:
        return Ending.OPEN
    return Ending.GIVEN_UP if document.get("given_up") is True else Ending.CARRIED_OUT


def done_by(commit: int | None) -> bytes:
    """Return the record of the end of a publication that was carried out, by a commit of a table if there is one."""
    return b"{}" if commit is None else json.dumps({"commit": commit}).encode()


def commit_in(store: StagingStore, key: str) -> int | None:
    """Return the commit in the record of an end, None if there is none."""
    with suppress(DamagedDocumentError):
        found = decode_object(store.get(key) or b"{}", key).get("commit")
        return found if isinstance(found, int) else None
    return None


WHOLE = "."
"""The target itself, among the folders an intent replaces."""
MARKER = "empty-"
"""The prefix of marker files' names: for people, and to recognize those of intents that do not list them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFile:
    """A file that is published alone, under a name that does not show who wrote it.

    `id` tells it from any other: a digest of its bytes, or, in a store of objects, the id of its write. `upload` is
    what completes it there.
    """

    id: str
    upload: DeferredFile | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent(Publication):
    """Files to add and to remove, by their names in the target.

    `prepared` holds one folder, with the new files under those names, which have `columns` (name and type). To remove
    what is behind a link, `remove` names the link. `replaces` are the folders of the target, `.` for all
    of it, whose files all go: where the file system can, they are exchanged for the new ones in one step. `markers` are
    those of `add` that contain only the columns, until there are rows; None in older intents, which do not list them.
    `merged`: the new files also hold the rows of all others, so no single run may take them back. `file`: the target is
    a file, and `add` its name; then nothing is removed, since the new file takes the place of the old one in one step.
    """

    prepared: str
    columns: tuple[tuple[str, str], ...]
    add: tuple[str, ...]
    remove: tuple[str, ...]
    replaces: tuple[str, ...]
    markers: tuple[str, ...] | None = field(default=None, metadata={ABSENT: None})
    merged: bool = field(default=False, metadata={ABSENT: False})
    file: NewFile | None = field(default=None, metadata={UNSAID: True})

    def pending(self, why: str) -> PublicationPendingError:
        """Return the error of a step that the target's store does not carry out."""
        return PublicationPendingError(
            f"{self.target} does not accept what execution {self.execution_id} of run {self.identity.run_id} has "
            f"decided to publish: {why}\n"
            "  hint: fix this, and clear the task: the next execution that writes to the target finishes it. "
            f"To give it up, remove {self.prepared}"
        )


def markers_in(document: Mapping[str, object]) -> frozenset[str]:
    """Return the files of an intent that only contain the columns, by its record."""
    return marker_files(_names(document, "add") or (), _names(document, "markers"))


def _names(document: Mapping[str, object], field: str) -> tuple[str, ...] | None:
    found = document.get(field)
    return tuple(map(str, found)) if isinstance(found, list) else None


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
