"""The store of a staging root, and of a target: the only module that creates stores.

    /mnt/staging             files of this host, in any process
    s3a://bucket/prefix      as the side this process is on opens it (`open_with`): the driver through Spark's JVM,
    hdfs://host:port/path    Airflow's side through an Airflow connection

`declaration/connectors/file_uris.py` lists the places with a store: declarations are also checked against it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar, cast
from urllib.parse import urlsplit

from graph_compiler.declaration.connectors.file_uris import (
    ABSOLUTE,
    STAGING_PLACES,
    TARGET_PLACES,
    local_path,
    why_no_staging,
    why_no_target,
)
from graph_compiler.errors import PublicationError, StagingError
from graph_compiler.staging.store.local_store import LocalStore
from graph_compiler.staging.store.staging_store import StagingStore

if TYPE_CHECKING:
    from graph_compiler.staging.store.deferred_files import DeferringStore

StoreOpener = Callable[[str], StagingStore]
"""Type of a function that opens the store of a place, which is not on this host's disks."""
Access = TypeVar("Access")
_ACCESS_SECONDS = 60.0
_OPENERS: dict[str, StoreOpener] = {}


def open_with(**openers: StoreOpener) -> None:
    """Set how this process opens the stores of places that are not on its disks, by their scheme."""
    _OPENERS.update(openers)


def opener(access: Callable[[], Access], store_at: Callable[[str, Access], StagingStore]) -> StoreOpener:
    """Return a function that opens a place's store by bucket or host and access; `access` is asked once a minute.

    Credentials are replaced while a process runs. `access` may raise StagingError.
    """

    @lru_cache(maxsize=1)
    def current(_turn: int) -> Access:
        return access()

    return lambda place: store_at(urlsplit(place).netloc, current(int(time.monotonic() // _ACCESS_SECONDS)))


def store_of(place: str) -> StagingStore:
    """Return the store of a root, or of a place below one.

    Raises StagingError for a scheme without one, and for a store without put-if-absent.
    """
    return committing(_store_at(place), place)


def store_beside(store: StagingStore, root: str, place: str) -> StagingStore:
    """Return the store of a place that a root's documents name: the root's own, unless it is elsewhere."""
    return store if _authority(root) == _authority(place) else store_of(place)


def target_store(target: str) -> StagingStore:
    """Return the store of a folder that sinks publish files to.

    Raises StagingError for a scheme without one, PublicationError for a store that nothing can be published to.
    """
    if wrong := why_no_target(target):
        raise StagingError(f"'{target}': {wrong}; allowed: {TARGET_PLACES}")
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


def _authority(place: str) -> str | None:
    """Return the scheme and the bucket or host of a place, None for a disk."""
    return None if local_path(place) is not None else "/".join(urlsplit(place)[:2])


def _store_at(place: str) -> StagingStore:
    if local_path(place) is not None:
        assert place.startswith("/"), "a place is given as its path"
        return LocalStore()
    if not place.startswith(ABSOLUTE):  # a key below a root has characters that a root may not have
        raise StagingError(f"'{place}': {why_no_staging(place)}; allowed: {STAGING_PLACES}")
    assert _OPENERS, "a process that may meet such a store has set how it opens them"
    return _OPENERS[urlsplit(place).scheme](place)
