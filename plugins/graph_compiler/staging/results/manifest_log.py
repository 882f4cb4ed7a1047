"""The manifests of one run, in the order of their epochs, and who commits an epoch (decision 10).

    begin    an execution determines the next epoch, before it reads anything
    write    it writes its data, in its own folder
    commit   its manifest is put under that epoch, if there is none

If an execution hangs, and wakes after a later one has begun, it has the same epoch as the later one, or an earlier
epoch that is taken. It can win that epoch or lose it, but it never adds one after another that has been read.

An unreadable manifest (empty, torn, of another kind) counts as lost, and so do its data: they are recomputed as the
next epoch. One of another version of this program is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath

from graph_compiler.declaration.connectors.file_uris import has_store
from graph_compiler.deployment.documents.manifest import VERSION, Manifest, upgraded
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.errors import DamagedDocumentError, PartitionNotFoundError, StagingError
from graph_compiler.identifiers import IntermediateDataSetId
from graph_compiler.staging.store.read_document import decode_object, get_document
from graph_compiler.staging.store.staging_store import StagingStore

_NAME = re.compile(r"(0|[1-9][0-9]*)\.json", re.ASCII)
_MOST_COUNTED = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestLog:
    """The committed epochs of a run's results."""

    store: StagingStore
    layout: StagingLayout

    def next_epoch(self, result_id: IntermediateDataSetId) -> int:
        """Return the epoch that an execution which starts now may commit."""
        return max(self.epochs(result_id), default=-1) + 1

    def epochs(self, result_id: IntermediateDataSetId) -> tuple[int, ...]:
        """Return all committed epochs in order, with readable and unreadable manifests."""
        keys = self.store.keys(self.layout.manifests(result_id))
        names = (_NAME.fullmatch(PurePath(key).name) for key in keys)
        return tuple(sorted(int(name[1]) for name in names if name))

    def latest(self, result_id: IntermediateDataSetId) -> Manifest | None:
        """Return the manifest of the highest epoch, None if there is none, or if it counts as lost."""
        try:
            return self.latest_or_why_not(result_id)
        except DamagedDocumentError:
            return None

    def latest_or_why_not(self, result_id: IntermediateDataSetId) -> Manifest | None:
        """Return the manifest of the highest epoch; raises DamagedDocumentError if it counts as lost."""
        epochs = self.epochs(result_id)
        return self.manifest(result_id, epochs[-1]) if epochs else None

    def find(self, result_id: IntermediateDataSetId, epoch: int) -> Manifest | None:
        """Return the manifest of a committed epoch, None if it counts as lost."""
        try:
            return self.manifest(result_id, epoch)
        except DamagedDocumentError:
            return None

    def manifest(self, result_id: IntermediateDataSetId, epoch: int) -> Manifest:
        """Return the manifest of an epoch that is committed.

        Raises DamagedDocumentError if it counts as lost, OtherVersionError for one of another version.
        """
        key = self.layout.manifest(result_id, epoch)
        found = get_document(self.store, key, Manifest, version=VERSION, upgrade=upgraded)
        if found is None:
            raise DamagedDocumentError(key, "is gone")
        if why := _why_damaged(found, result_id, epoch):
            raise DamagedDocumentError(key, why)
        return found

    def commit(self, manifest: Manifest) -> Manifest:
        """Commit an epoch, and return its valid manifest: this one, or that of an equal winner.

        Raises StagingError if the epoch was committed by another plan, or its manifest is unreadable.
        """
        key = self.layout.manifest(manifest.result_id, manifest.epoch)
        if self.store.put_if_absent(key, to_json(manifest).encode()):
            return manifest
        # Not always lost: if the answer to a put was lost and it was sent again, the winner is this one.
        try:
            winner = self.manifest(manifest.result_id, manifest.epoch)
        except DamagedDocumentError as error:
            raise error.hinting("try again: the next attempt commits the next epoch") from None
        if (winner.fingerprint, winner.plan_id) != (manifest.fingerprint, manifest.plan_id):
            raise StagingError(
                f"epoch {manifest.epoch} of {manifest.result_id} was committed by execution "
                f"{winner.attempt.execution_id} of another plan ({winner.plan_id}, here {manifest.plan_id})"
            )
        return winner


def _why_damaged(manifest: Manifest, result_id: IntermediateDataSetId, epoch: int) -> str | None:
    """Return why a manifest of the right form cannot be that of this epoch, None if it can."""
    if (manifest.result_id, manifest.epoch) != (result_id, epoch):
        return f"is of epoch {manifest.epoch} of {manifest.result_id}"
    counts = [count for file in manifest.files for count in (file.rows, file.bytes)]
    if not all(0 <= count <= _MOST_COUNTED for count in counts):
        return "counts rows or bytes that no file has"
    names = [file.name for file in manifest.files]
    if odd := [name for name in names if PurePath(name).name != name or name in ("", "..")]:
        return f"names {odd[0]!r:.200}, which is not a file of a staged result"
    if ".." in PurePath(manifest.location).parts or not has_store(manifest.location):
        return f"names {manifest.location!r:.200}, which is not a folder of a staged result"
    try:
        decode_object(manifest.schema.encode(errors="replace"), "its schema")
    except DamagedDocumentError as error:
        return f"has a schema that {error.why}"
    return None


# The record that the data of a committed epoch are damaged: from then on the epoch counts as lost (decision 11).
#
# Missing files, and files of another size, are found before Spark reads them. Changed bytes are found during an action,
# on an executor: that attempt fails and leaves this record, and the next one recomputes the result.


@dataclass(frozen=True, slots=True, kw_only=True)
class DamagedResult:
    """A damaged file of an epoch: why, which execution found it, and when (seconds since the epoch)."""

    result_id: IntermediateDataSetId
    epoch: int
    file: str
    reason: str
    execution_id: str
    time: float

    def words(self) -> str:
        """Return it as one line."""
        return (
            f"epoch {self.epoch} of {self.result_id} was found damaged by execution {self.execution_id}: "
            f"file {self.file}: {self.reason}"
        )


def record_damage(store: StagingStore, layout: StagingLayout, damaged: DamagedResult) -> None:
    """Write the record, unless there is one."""
    store.put_if_absent(layout.damaged(damaged.result_id, damaged.epoch), to_json(damaged).encode())


def find_damage(
    store: StagingStore, layout: StagingLayout, result_id: IntermediateDataSetId, epoch: int
) -> DamagedResult | None:
    """Return the record of an epoch's damage, None if there is none.

    Raises PartitionNotFoundError if it is unreadable: it shows that damage was found.
    """
    try:
        return get_document(store, layout.damaged(result_id, epoch), DamagedResult)
    except DamagedDocumentError as error:
        raise PartitionNotFoundError(
            f"epoch {epoch} of {result_id} was found damaged; the record of the damage cannot be read: {error}"
        ) from None
