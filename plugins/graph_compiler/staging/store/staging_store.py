"""The interface to everything below a staging root, for any scheme: documents, and their data.

    documents   small, put by at most one writer under a key; commits depend on this (decision 10)
    data        files that Spark writes and reads by itself; here they are listed, moved and deleted

Keys and folders are absolute paths or URIs, as `StagingLayout` makes them. Every call raises OSError if the store does
not answer, or denies access: this never means "not there".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

from graph_compiler.stores.s3a import S3A
from graph_compiler.stores.store_kind import Promises

MOST_BYTES = 64_000_000
"""The size of one document; that of 1,000 vertices has half a million bytes."""
MOST_ENTRIES = 1_000_000
"""The number of names in one folder."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file by its key, its size, and when it was written, in seconds since the epoch.

    `digest` is what the store keeps for its bytes, if listings have it: then the store is not asked for it.
    """

    key: str
    bytes: int
    written: float
    digest: str | None = None


class StagingStore(Protocol):
    """The operations of a store; `staging/store/stores.py` creates the one of a root."""

    @property
    def promises(self) -> Promises:
        """Return what this store can do in one step."""

    def put_if_absent(self, key: str, content: bytes) -> bool:
        """Write all of `content` or nothing; False when the key already exists."""

    def put(self, key: str, content: bytes) -> None:
        """Replace a document, so that readers see either the old or the new one; a power failure may lose it."""

    def get(self, key: str, *, most: int = MOST_BYTES) -> bytes | None:
        """Return the content, None if there is none.

        Raises DamagedDocumentError for anything but a document of at most `most` bytes.
        """

    def written(self, key: str) -> float | None:
        """Return when a document was written, in seconds since the epoch, None if there is none."""

    def keys(self, folder: str) -> list[str]:
        """Return the keys directly below a folder, in any order, without hidden ones.

        On a disk, folders are among them: reading one as a document finds it damaged.
        """

    def folders(self, folder: str) -> list[str]:
        """Return the names of the folders directly below a folder, sorted, hidden ones too."""

    def files(self, folder: str, *, most: int | None = None) -> Iterator[StoredFile]:
        """Yield every file below a folder, at any depth, with hidden ones; files that disappear meanwhile are left out.

        Raises DamagedDocumentError if there are more than `most` names, including those of folders.
        """

    def digest(self, key: str) -> str | None:
        """Return the digest that the store keeps for a file's bytes, None if it has none; no data are read."""

    def why_differs(self, key: str, digest: str) -> str | None:
        """Return how a file's recorded checksums differ from this digest, None if they do not; no data are read."""

    def why_damaged(self, key: str) -> str | None:
        """Return where a file differs from its recorded checksums, None if it does not; the whole file is read."""

    def make_folder(self, folder: str) -> None:
        """Create a folder for those who may access the folder around it, if the store has real folders."""

    def is_open_to_group(self, folder: str) -> bool:
        """Whether what is created in a folder is for a group of users, and not for its owner only."""

    def is_there(self, key: str) -> bool:
        """Whether there is a document under a key, or a folder of this name."""

    def move(self, folder: str, to: str) -> bool:
        """Rename a folder, or a file, in one step if promised; False if it is missing.

        Raises FileExistsError if the new name is a folder that is not empty: publications by rename depend on it.
        """

    def exchange(self, one: str, other: str) -> bool:
        """Exchange two folders in one step; only called if that is promised.

        Return False without a change if these two cannot be exchanged: they are on two mounts, or another user owns
        one.
        """

    def replace(self, file: str, to: str) -> bool:
        """Rename a file over another one in one step; False if it is missing. Only called if that is promised."""

    def file_id(self, key: str) -> str | None:
        """Return what tells a file from all that take its place, None if there is no file; all of it may be read."""

    def delete(self, key: str) -> bool:
        """Delete a document, or a folder with everything in it; False if some of it could not be deleted."""

    def discard_empty(self, folder: str) -> None:
        """Remove a folder if it is empty, if the store has real folders."""


class BucketStore:
    """The part of a store that needs no request of its own; both sides' stores of S3 extend it."""

    promises = replace(S3A.promises, deferred_files=False)

    def digest(self, key: str) -> str | None:
        """Return the ETag of an object, None if there is none."""
        raise NotImplementedError

    def file_id(self, key: str) -> str | None:
        """Return the id of the write that made an object, "" if it has none, None if there is no object."""
        raise NotImplementedError

    def why_differs(self, key: str, digest: str) -> str | None:
        """Return that an object has another ETag, None if it has this one."""
        found = self.digest(key)
        return None if found == digest else f"its ETag is {found}, not {digest}"

    def why_damaged(self, key: str) -> str | None:
        """Return None: the store checks its objects itself."""

    def make_folder(self, folder: str) -> None:
        """Do nothing: a folder is what keys have in common."""

    def is_open_to_group(self, folder: str) -> bool:  # noqa: ARG002  # the interface
        """Return False: the store's own policies say who may read."""
        return False

    def move(self, folder: str, to: str) -> bool:
        """Never called: the store does not promise it."""
        raise NotImplementedError(f"{folder} cannot be renamed to {to} in one step")

    def exchange(self, one: str, other: str) -> bool:
        """Never called: the store does not promise it."""
        raise NotImplementedError(f"{one} cannot be exchanged with {other} in one step")

    def replace(self, file: str, to: str) -> bool:
        """Never called: the store does not promise it."""
        raise NotImplementedError(f"{file} cannot be renamed to {to} in one step")

    def discard_empty(self, folder: str) -> None:
        """Do nothing: a folder is what keys have in common."""
