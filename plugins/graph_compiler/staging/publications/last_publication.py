"""Whether what an execution has published is still there, unless a later publication has removed it."""

from __future__ import annotations

from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.staging.publications.intent import WHOLE, Intent
from graph_compiler.staging.publications.ledger_records import LedgerRecords
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.staging.store.stores import store_beside


def is_in_place(store: StagingStore, layout: StagingLayout, target: str, execution_id: str) -> bool:
    """Whether a folder has the files that an execution has added, except those that later publications have removed.

    Targets that are no folders are not looked at. Raises DamagedDocumentError and OtherVersionError.
    """
    records = LedgerRecords(store=store, layout=layout)
    decided, _ = records.numbers(target)
    later: list[Intent] = []
    for number in sorted(decided, reverse=True):
        found = records.publication(target, number)
        if found.execution_id == execution_id:
            if not isinstance(found, Intent):
                return True
            left = [name for name in found.add if not any(_removes(one, name) for one in later)]
            beside = store_beside(store, layout.root, found.target)
            return all(beside.is_there(f"{found.target}/{name}") for name in left)
        if isinstance(found, Intent):
            later.append(found)
    return True


def _removes(intent: Intent, name: str) -> bool:
    """Whether a publication has removed a file of its target, by its name there."""
    folders = (folder for folder in intent.replaces if folder != WHOLE)
    return (
        WHOLE in intent.replaces
        or name in intent.remove
        or any(name.startswith(f"{folder}/") for folder in folders)
    )
