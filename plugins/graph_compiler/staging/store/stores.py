"""The store of a staging root, and of a target: the only module that creates stores.

`declaration/connectors/file_uris.py` lists the places with a store: declarations are also checked against it.
"""

from __future__ import annotations

from graph_compiler.declaration.connectors.file_uris import LOCAL_PLACES, why_no_store
from graph_compiler.errors import PublicationError, StagingError
from graph_compiler.staging.store.local_store import LocalStore
from graph_compiler.staging.store.staging_store import StagingStore


def store_of(place: str) -> StagingStore:
    """Return the store of a root, or of a place below one.

    Raises StagingError for a scheme without one, and for a store without put-if-absent.
    """
    return committing(_store_at(place), place)


def target_store(target: str) -> StagingStore:
    """Return the store of a folder that sinks publish files to.

    Raises StagingError for a scheme without one, PublicationError for a store without atomic moves.
    """
    return publishing(_store_at(target), target)


def committing(store: StagingStore, root: str) -> StagingStore:
    """Return the store; raises StagingError if it cannot have a staging root."""
    if not store.promises.conditional_put:
        raise StagingError(
            f"'{root}' is in a store that nothing can be staged in: several writers of one "
            "document could all succeed, and results could be committed twice\n  allowed: a "
            "store that writes a document only where there is none"
        )
    return store


def publishing(store: StagingStore, target: str) -> StagingStore:
    """Return the store; raises PublicationError if it cannot move folders in one step."""
    if not store.promises.atomic_move:
        raise PublicationError(
            f"its target {target} is in a store that cannot rename a folder in one step: readers would see a part of "
            "what is published, and two executions could publish both\n  allowed: a target on a file system"
        )
    return store


def _store_at(place: str) -> StagingStore:
    if wrong := why_no_store(place):
        raise StagingError(f"'{place}': {wrong}; allowed: {LOCAL_PLACES}")
    assert place.startswith("/"), "a place is given as its path"
    return LocalStore()
