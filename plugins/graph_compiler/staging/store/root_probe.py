"""Ask a staging root, once, whether its store does what commits rely on; the root remembers the answer.

    <root>/.store.json    two writers of a key were tried, and one of them won

A store may accept a condition and ignore it, and a file system may have no hard links: with either, two executions
could both commit.
"""

from __future__ import annotations

import errno
import time
import uuid
from dataclasses import dataclass

from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.errors import DamagedDocumentError, StagingError
from graph_compiler.staging.store.read_document import get_document
from graph_compiler.staging.store.staging_store import StagingStore

RECORD = ".store.json"
_FOLDER = ".probe"
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
_ALLOWED = "\n  allowed: a store that honors If-None-Match, or a file system with hard links"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbedRoot:
    """When the root was probed, in seconds since the epoch."""

    probed: float


def check_root(store: StagingStore, root: str) -> None:
    """Probe a root that has not been probed; raises StagingError if nothing can be staged in it."""
    key = f"{root}/{RECORD}"
    try:
        if get_document(store, key, ProbedRoot) is not None:
            return
    except DamagedDocumentError:
        store.delete(key)
    if (wrong := why_unsafe(store, root)) is not None:
        raise StagingError(f"nothing can be staged in {root}: {wrong}")
    store.put_if_absent(key, to_json(ProbedRoot(probed=time.time())).encode())


def why_unsafe(store: StagingStore, root: str) -> str | None:
    """Return why two writers could both commit below a root, None if one of two has won; raises OSError."""
    key = f"{root}/{_FOLDER}/{uuid.uuid4().hex}"
    try:
        first, second = (store.put_if_absent(key, content) for content in (b"1", b"2"))
        if first and not second and store.get(key) == b"1":
            return None
        return f"two writers of a document both succeeded, so two executions could commit the same epoch{_ALLOWED}"
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        return f"its file system has no hard links ({error.strerror}){_ALLOWED}"
    finally:
        store.delete(key)
        store.discard_empty(f"{root}/{_FOLDER}")


def store_time(store: StagingStore, root: str) -> float:
    """Return the store's time now, in seconds since the epoch; this host's if nothing can be written there.

    Ages of files are differences to this: clocks of hosts differ, and files have the times of their store.
    """
    key = f"{root}/{_FOLDER}/{uuid.uuid4().hex}"
    try:
        store.put_if_absent(key, b"1")
        try:
            found = store.written(key)
        finally:
            store.delete(key)
            store.discard_empty(f"{root}/{_FOLDER}")
    except OSError:
        found = None
    return time.time() if found is None else found


def why_unlisted(store: StagingStore, root: str) -> str | None:
    """Return why cleanup cannot rely on a store: a document is not listed, or stays; None if it can; raises OSError."""
    folder = f"{root}/{_FOLDER}/{uuid.uuid4().hex}"
    key = f"{folder}/listed"
    store.put_if_absent(key, b"1")
    if store.keys(folder) != [key]:
        return "an object that was just written is not listed"
    if not store.delete(folder) or store.is_there(key):
        return "an object cannot be deleted"
    return None
