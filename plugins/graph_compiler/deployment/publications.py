"""What the ledgers below `.targets` say of publications, whatever their kind; `spark_runtime/ledger.py` writes them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from graph_compiler.deployment.commit_store import CommitStore
from graph_compiler.deployment.staging_inventory import UndoneIntent
from graph_compiler.deployment.staging_layout import DONE, INTENT, TARGETS, StagingLayout

GIVEN_UP = b'{"given_up": true}'
"""What is recorded as done where the target has refused it, or its rows are lost."""


def undone_intents(store: CommitStore, root: str) -> Iterator[UndoneIntent]:
    """Give what was decided and not carried out, of all targets."""
    for folder in sorted(Path(root, TARGETS).glob("*")):
        keys = set(store.keys(str(folder)))
        for key in sorted(key for key in keys if key.endswith(INTENT)):
            if key.removesuffix(INTENT) + DONE not in keys:
                document = json.loads(store.get(key) or b"{}")
                yield UndoneIntent(
                    pipeline=document["pipeline"],
                    run_id=document["run_id"],
                    execution_id=document["execution_id"],
                    target=document["target"],
                )


def is_published(store: CommitStore, layout: StagingLayout, target: str, execution_id: str) -> bool:
    """Say whether an execution's publication to a target was carried out."""
    for key in store.keys(layout.publications(target)):
        if key.endswith(INTENT):
            done = store.get(key.removesuffix(INTENT) + DONE)
            is_its = json.loads(store.get(key) or b"{}")["execution_id"] == execution_id
            if is_its and done is not None and done != GIVEN_UP:
                return True
    return False
