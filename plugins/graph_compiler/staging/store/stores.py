"""The store of a staging root, and of a target: the only module that creates stores.

/mnt/staging              files of this host, in any process
scheme://authority/path   as the side this process is on opens the store of the scheme (`open_with`): the driver
through Spark's JVM, Airflow's side through an Airflow connection (`store_access.py`)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, cast

from graph_compiler.declaration.connectors.file_uris import (
    local_path,
    places_with_stores,
    store_part,
    why_no_staging,
    why_no_target,
)
from graph_compiler.errors import PublicationError, StagingError
from graph_compiler.extensions import load_reference
from graph_compiler.staging.store.local_store import LocalStore
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.stores.known_stores import kind_of_place
from graph_compiler.stores.store_kind import StoreKind

if TYPE_CHECKING:
    from graph_compiler.staging.store.deferred_files import DeferringStore

StoreOpener = Callable[[str], StagingStore]
"""Type of a function that opens the store of a place, which is not on this host's disks."""
_OPENING: dict[None, Callable[[StoreKind], StoreOpener]] = {}


def open_with(opening: Callable[[StoreKind], StoreOpener]) -> None:
    """Set how this process opens the stores of places that are not on its disks: with an opener for each kind."""
    _OPENING[None] = cache(opening)


def open_on_driver() -> None:
    """Open stores in this process as the driver does, through Spark's JVM: each bucket, and each file system, once."""

    def opening(kind: StoreKind) -> StoreOpener:
        open_store = cache(load_reference(kind.driver, kind.scheme))
        return lambda place: cast("StagingStore", open_store(f"{store_part(place)}/"))

    open_with(opening)


def store_of(place: str) -> StagingStore:
    """Return the store of a root, or of a place below one.

    Raises StagingError for a scheme without one, and for a store without put-if-absent.
    """
    return committing(_store_at(place), place)


def store_beside(store: StagingStore, root: str, place: str) -> StagingStore:
    """Return the store of a place that a root's documents name: the root's own, unless it is elsewhere."""
    return store if _ground(root) == _ground(place) else store_of(place)


def target_store(target: str) -> StagingStore:
    """Return the store of a folder that sinks publish files to.

    Raises StagingError for a scheme without one, PublicationError for a store that nothing can be published to.
    """
    if wrong := why_no_target(target):
        raise StagingError(f"'{target}': {wrong}; allowed: {places_with_stores()}")
    return publishing(_store_at(target), target)


def deferring_store(target: str) -> DeferringStore:
    """Return the store of a target in which files appear when they are completed."""
    store = target_store(target)
    assert store.promises.deferred_files, "a target on a disk has no such store"
    return cast("DeferringStore", store)


def committing(store: StagingStore, root: str) -> StagingStore:
    """Return the store; raises StagingError if it cannot have a staging root."""
    if not store.promises.conditional_put:
        raise StagingError(
            f"'{root}' is in a store that nothing can be staged in: several writers of one "
            "document could all succeed, and results could be committed twice\n  allowed: a "
            "store that writes a document only if there is none"
        )
    return store


def publishing(store: StagingStore, target: str) -> StagingStore:
    """Return the store; raises PublicationError if files cannot appear in one step there."""
    if not (store.promises.atomic_move or store.promises.deferred_files):
        raise PublicationError(
            f"its target {target} is in a store in which written files cannot appear in one step: readers would see a "
            "part of what is published, and two executions could publish both\n  allowed: a target on a file system, "
            "or in a store with multipart uploads"
        )
    return store


def _ground(place: str) -> str | None:
    """Return the scheme and the authority of a place, None for a disk."""
    return None if local_path(place) is not None else store_part(place) or place


def _store_at(place: str) -> StagingStore:
    if local_path(place) is not None:
        assert place.startswith("/"), "a place is given as its path"
        return LocalStore()
    kind = kind_of_place(place)
    if kind is None:
        raise StagingError(f"'{place}': {why_no_staging(place)}; allowed: {places_with_stores()}")
    assert _OPENING, "a process that may meet such a store has set how it opens them"
    return _OPENING[None](kind)(place)
