"""The manifests of one run, in the order of their epochs; who commits an epoch is decided here (DESIGN D10).

    begin    an execution looks which epoch comes next, before it reads anything
    write    it writes its data, in a folder of its own
    commit   its manifest is put under that epoch, if no other has been

An execution that hangs and wakes after a later one was begun therefore has the same epoch as that one, or an earlier
one that is taken: it can win it or lose it, and never adds an epoch behind the back of who has read the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from graph_compiler.deployment.commit_store import CommitStore
from graph_compiler.deployment.manifest import Manifest, manifest_from_json
from graph_compiler.deployment.staging_layout import StagingLayout
from graph_compiler.deployment.wire import to_json
from graph_compiler.errors import StagingError
from graph_compiler.identifiers import IntermediateDataSetId


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestLog:
    """The committed epochs of a run's results."""

    store: CommitStore
    layout: StagingLayout

    def next_epoch(self, result_id: IntermediateDataSetId) -> int:
        """Give the epoch an execution that begins now may commit."""
        return max(self._epochs(result_id), default=-1) + 1

    def latest(self, result_id: IntermediateDataSetId) -> Manifest | None:
        """Give the manifest of the highest epoch, None where there is none."""
        epochs = self._epochs(result_id)
        return self.manifest(result_id, max(epochs)) if epochs else None

    def manifest(self, result_id: IntermediateDataSetId, epoch: int) -> Manifest:
        """Give the manifest of an epoch that is committed."""
        content = self.store.get(self.layout.manifest(result_id, epoch))
        assert content is not None, "manifests are never deleted while their run lives"
        return manifest_from_json(content)

    def commit(self, manifest: Manifest) -> Manifest:
        """Commit an epoch, and give the manifest that holds: this one, or that of an equal winner.

        Raises StagingError where the epoch was committed by another plan.
        """
        key = self.layout.manifest(manifest.result_id, manifest.epoch)
        if self.store.put_if_absent(key, to_json(manifest).encode()):
            return manifest
        # Not always lost: where the answer to a put got lost and it was sent again, the winner is this one.
        winner = self.manifest(manifest.result_id, manifest.epoch)
        if (winner.fingerprint, winner.plan_id) != (manifest.fingerprint, manifest.plan_id):
            raise StagingError(
                f"epoch {manifest.epoch} of {manifest.result_id} was committed by execution "
                f"{winner.attempt.execution_id} of another plan ({winner.plan_id}, here {manifest.plan_id})"
            )
        return winner

    def _epochs(self, result_id: IntermediateDataSetId) -> list[int]:
        keys = self.store.keys(self.layout.manifests(result_id))
        return [int(PurePath(key).stem) for key in keys]
