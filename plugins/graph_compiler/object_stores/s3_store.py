"""A staging root in S3, or in a store with S3's protocol, through obstore; the driver's is `spark_runtime/stores/`.

A document is one object, written by one request (`staging/store/conditional_put.py`). obstore repeats none by itself: a
repeated conditional write would be refused because of itself.

    put_if_absent            PUT; if it was refused, or not answered, HEAD
    get                      GET
    written, digest          HEAD
    files, keys, folders     LIST for each thousand
    delete                   LIST for each thousand, and a bulk deletion of them
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event
from typing import Any, TypeVar

from obstore.exceptions import AlreadyExistsError, BaseError, PermissionDeniedError, UnauthenticatedError
from obstore.store import S3Store

from graph_compiler.errors import DamagedDocumentError, StagingError
from graph_compiler.object_stores.s3_access import S3Access
from graph_compiler.staging.store.conditional_put import PUT_ID, ask_repeatedly, put_once
from graph_compiler.staging.store.staging_store import MOST_BYTES, MOST_ENTRIES, BucketStore, StoredFile
from graph_compiler.stores.s3a import S3A

_OF_BUCKETS = "us-east-1"
"""The region of stores that have none."""
_NUMBERS = (
    (FileNotFoundError, errno.ENOENT),
    (AlreadyExistsError, errno.EEXIST),
    (PermissionDeniedError, errno.EACCES),
    (UnauthenticatedError, errno.EACCES),
)

Answer = TypeVar("Answer")


_USED, _FORKED = Event(), Event()
"""obstore's threads do not survive a fork, and a request without them hangs."""
os.register_at_fork(after_in_child=lambda: _FORKED.set() if _USED.is_set() else None)


class ObjectStore(BucketStore):
    """The store of one bucket, for several threads; not for a process that was forked after a store was used."""

    def __init__(self, bucket: str, access: S3Access) -> None:
        self._place = f"{S3A.scheme}://{bucket}"
        self._store = _client(bucket, access)

    def put_if_absent(self, key: str, content: bytes) -> bool:
        """Write on the condition that there is no object; False if there is one of another write."""

        def write(own: str) -> None:
            with _as_os_errors(key):
                self._store.put(self._path(key), content, mode="create", use_multipart=False, attributes={PUT_ID: own})

        return put_once(write, lambda: self.file_id(key))

    def put(self, key: str, content: bytes) -> None:
        """Replace an object."""
        self._ask(key, lambda path: self._store.put(path, content, use_multipart=False))

    def get(self, key: str, *, most: int = MOST_BYTES) -> bytes | None:
        """Return the content of an object; raises DamagedDocumentError if it is too large."""

        def read(path: str) -> bytes:
            found = self._store.get(path)
            if (size := found.meta["size"]) > most:
                raise DamagedDocumentError(key, f"has {size:,} bytes, more than {most:,}")
            return bytes(found.bytes())

        try:
            return self._ask(key, read)
        except FileNotFoundError:
            return None

    def written(self, key: str) -> float | None:
        """Return when an object was written, None if there is none."""
        found = self._head(key)
        return None if found is None else float(found["last_modified"].timestamp())

    def keys(self, folder: str) -> list[str]:
        """List the objects directly below a folder, without hidden ones."""
        paths = (each["path"] for each in self._listed(folder)["objects"])
        names = (path.rpartition("/")[2] for path in paths)
        return [f"{folder}/{name}" for name in names if not name.startswith(".")]

    def folders(self, folder: str) -> list[str]:
        """List the names that keys have in common, directly below a folder."""
        return sorted(path.rpartition("/")[2] for path in self._listed(folder)["common_prefixes"])

    def files(self, folder: str, *, most: int | None = None) -> Iterator[StoredFile]:
        """Yield every object below a folder, with its ETag."""

        def all_pages(path: str) -> list[Any]:
            found: list[Any] = []
            for page in self._store.list(path or None):
                found += page
                if most is not None and len(found) > most:
                    raise DamagedDocumentError(folder, f"has more than {most:,} entries")
            return found

        # If a page is not answered, all of them are requested again: the rest of a broken listing looks like its end.
        for each in self._ask(folder, all_pages):
            yield StoredFile(
                key=self._key(each["path"]),
                bytes=each["size"],
                written=each["last_modified"].timestamp(),
                digest=_etag(each),
            )

    def digest(self, key: str) -> str | None:
        found = self._head(key)
        return None if found is None else _etag(found)

    def is_there(self, key: str) -> bool:
        """Whether there is an object, or one below it."""
        if self._head(key) is not None:
            return True
        found = self._listed(key)
        return bool(found["objects"] or found["common_prefixes"])

    def delete(self, key: str) -> bool:
        """Delete an object, and all below it; False if some of it could not be deleted."""
        try:
            paths = [self._path(file.key) for file in self.files(key)]
            self._ask(key, lambda path: self._store.delete([*paths, path]))
        except OSError:
            return False
        return True

    def file_id(self, key: str) -> str | None:
        """Return the id of the write that made an object, "" if it has none, None if there is no object."""
        try:
            found = self._ask(key, lambda path: self._store.get(path, options={"head": True}))
        except FileNotFoundError:
            return None
        return str(found.attributes.get(PUT_ID, ""))

    def _head(self, key: str) -> Any:
        try:
            return self._ask(key, self._store.head)
        except FileNotFoundError:
            return None

    def _listed(self, folder: str) -> Any:
        found = self._ask(folder, self._store.list_with_delimiter)
        if len(found["objects"]) + len(found["common_prefixes"]) > MOST_ENTRIES:
            raise DamagedDocumentError(folder, f"has more than {MOST_ENTRIES:,} entries")
        return found

    def _ask(self, key: str, request: Callable[[str], Answer]) -> Answer:
        """Send a request that may be repeated; raises OSError."""

        def sent() -> Answer:
            with _as_os_errors(key):
                return request(self._path(key))

        return ask_repeatedly(sent)

    def _path(self, key: str) -> str:
        """Return a key without its bucket; empty names are left out, as in a path on a disk."""
        names = key.removeprefix(self._place).split("/")
        return "/".join(name for name in names if name)

    def _key(self, path: str) -> str:
        return f"{self._place}/{path}"


def _client(bucket: str, access: S3Access) -> S3Store:
    known = {
        "region": access.region or (_OF_BUCKETS if access.endpoint else None),
        "endpoint": access.endpoint,
        "access_key_id": access.access_key,
        "secret_access_key": access.secret_key,
        "session_token": access.token,
        "virtual_hosted_style_request": None if access.is_path_style is None else not access.is_path_style,
    }
    settings: Any = {name: value for name, value in known.items() if value is not None}
    client: Any = {
        "allow_http": (access.endpoint or "").startswith("http://"),
        "timeout": "30s",
        "connect_timeout": "10s",
    }
    return S3Store(bucket, config=settings, client_options=client, retry_config={"max_retries": 0})


@contextmanager
def _as_os_errors(key: str) -> Iterator[None]:
    """Raise obstore's errors as Python's; what they say of a request contains neither a key nor a token."""
    if _FORKED.is_set():
        raise StagingError(f"{key} cannot be reached in a process that was forked after obstore was used")
    _USED.set()
    try:
        yield
    except (BaseError, OSError) as error:
        number = next((number for kind, number in _NUMBERS if isinstance(error, kind)), errno.EIO)
        raise OSError(number, str(error).splitlines()[0][:500], key) from error


def _etag(found: Any) -> str | None:
    tag = found["e_tag"]
    return None if tag is None else str(tag).strip('"')
