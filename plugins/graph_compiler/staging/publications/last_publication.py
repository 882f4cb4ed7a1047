"""What was published last to a target, and whether it is still there."""

from __future__ import annotations

from pathlib import Path

from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.staging.publications.intent import Intent
from graph_compiler.staging.publications.ledger_records import LedgerRecords
from graph_compiler.staging.store.staging_store import StagingStore


def is_in_place(store: StagingStore, layout: StagingLayout, target: str, execution_id: str) -> bool:
    """Whether a folder has the files that an execution has put there last; other targets are not looked at.

    Raises DamagedDocumentError and OtherVersionError.
    """
    records = LedgerRecords(store=store, layout=layout)
    decided, _ = records.numbers(target)
    if not decided:
        return True
    last = records.publication(target, max(decided))
    if last.execution_id != execution_id or not isinstance(last, Intent):
        return True
    return all(Path(last.target, name).exists() for name in last.add)
