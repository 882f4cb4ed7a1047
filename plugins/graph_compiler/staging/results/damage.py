"""The record that the data of a committed epoch are damaged: from then on the epoch counts as lost (decision 11).

Missing files, and files of another size, are found before Spark reads them. Changed bytes are found during an action,
on an executor: that attempt fails and leaves this record, and the next one recomputes the result.
"""

from __future__ import annotations

from dataclasses import dataclass

from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.errors import DamagedDocumentError, PartitionNotFoundError
from graph_compiler.identifiers import IntermediateDataSetId
from graph_compiler.staging.store.read_document import get_document
from graph_compiler.staging.store.staging_store import StagingStore


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
