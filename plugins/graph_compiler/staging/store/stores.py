"""The store of a staging root, and of a target: the only module that creates stores.

    /mnt/staging             files of this host, in any process
    s3a://bucket/prefix      as the side this process is on opens it (`open_with`): the driver through Spark's JVM,
                             Airflow's side through an Airflow connection

`declaration/connectors/file_uris.py` lists the places with a store: declarations are also checked against it.
"""

from __future__ import annotations

from collections.abc import Callable

from graph_compiler.declaration.connectors.file_uris import (
    ABSOLUTE,
    LOCAL_PLACES,
    STAGING_PLACES,
    local_path,
    why_no_staging,
    why_not_local,
)
from graph_compiler.errors import PublicationError, StagingError
from graph_compiler.staging.store.local_store import LocalStore
from graph_compiler.staging.store.staging_store import StagingStore

StoreOpener = Callable[[str], StagingStore]
"""Type of a function that opens the store of a place, which is not on this host's disks."""
_OPENERS: list[StoreOpener] = []


def open_with(opener: StoreOpener) -> None:
    """Set how this process opens the stores of places that are not on its disks."""
    _OPENERS[:] = [opener]


def store_of(place: str) -> StagingStore:
    """Return the store of a root, or of a place below one.

    Raises StagingError for a scheme without one, and for a store without put-if-absent.
    """
    return committing(_store_at(place), place)


def store_beside(store: StagingStore, root: str, place: str) -> StagingStore:
    """Return the store of a place that a root's documents name: the root's own, unless one of both is on a disk."""
    is_elsewhere = (local_path(root) is None) is not (local_path(place) is None)
    return store_of(place) if is_elsewhere else store


def target_store(target: str) -> StagingStore:
    """Return the store of a folder that sinks publish files to.

    Raises StagingError for a scheme without one, PublicationError for a store without atomic moves.
    """
    if wrong := why_not_local(target):
        raise StagingError(f"'{target}': {wrong}; allowed: {LOCAL_PLACES}")
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
    if local_path(place) is not None:
        assert place.startswith("/"), "a place is given as its path"
        return LocalStore()
    if not place.startswith(ABSOLUTE):  # a key below a root has characters that a root may not have
        raise StagingError(f"'{place}': {why_no_staging(place)}; allowed: {STAGING_PLACES}")
    assert _OPENERS, "a process that may meet an object store has set how it opens them"
    return _OPENERS[0](place)
