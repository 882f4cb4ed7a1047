"""What is published to a target, whatever its kind, and what the ledgers below `.targets` say of it.

`spark_runtime/ledger.py` writes them. Each kind of target has a leaf of its own, which only its sink knows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

from graph_compiler.deployment.commit_store import CommitStore
from graph_compiler.deployment.staging_layout import DONE, INTENT, TARGETS, StagingLayout
from graph_compiler.deployment.wire import from_wire
from graph_compiler.identifiers import OperatorId

GIVEN_UP = b'{"given_up": true}'
"""What is recorded as done where the target has refused it, or its rows are lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """What one execution is about to do to a target; the leaves say what."""

    number: int
    pipeline: str
    run_id: str
    plan_id: str
    operator_id: OperatorId
    execution_id: str
    target: str
    rows: int
    bytes: int


def undone_intents(store: CommitStore, root: str) -> Iterator[Publication]:
    """Give what was decided and not carried out, of all targets: the next execution that writes one needs its rows."""
    for folder in sorted(Path(root, TARGETS).glob("*")):
        keys = set(store.keys(str(folder)))
        for key in sorted(key for key in keys if key.endswith(INTENT)):
            if key.removesuffix(INTENT) + DONE not in keys:
                yield _publication(store, key)


def is_published(store: CommitStore, layout: StagingLayout, target: str, execution_id: str) -> bool:
    """Say whether an execution's publication to a target was carried out."""
    for key in store.keys(layout.publications(target)):
        if key.endswith(INTENT):
            done = store.get(key.removesuffix(INTENT) + DONE)
            is_its = _publication(store, key).execution_id == execution_id
            if is_its and done is not None and done != GIVEN_UP:
                return True
    return False


def _publication(store: CommitStore, key: str) -> Publication:
    """Read what publications of all kinds have in common."""
    content = store.get(key)
    assert content is not None, "publications are never deleted"
    document = json.loads(content)
    common = {field.name: document[field.name] for field in fields(Publication)}
    return from_wire(Publication, {"type": Publication.__name__} | common)
