"""A staging root in HDFS, on either side: a document is written under a hidden name, and renamed to its own.

    spark_runtime/stores/hdfs_client.py    Hadoop's client in Spark's JVM
    webhdfs/webhdfs_client.py              WebHDFS, without a JVM

HDFS renames in one step, and refuses an existing name (`Options.Rename.NONE`), so of several writers of a key one wins.
Creating a file under its own name is no alternative: others see it, empty, until it is closed.

    renamed                      this write has made the document
    refused, or not answered     the id that HDFS gave the written file shows whose document is there
    and no document is there     the rename was lost, or is delayed: it is sent again, for the same file

A file keeps its id when it is renamed, and no other file ever has it. The hidden file is not written again once it is
complete: a delayed rename could bring the beginning of it.
"""

from __future__ import annotations

import errno
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from graph_compiler.errors import DamagedDocumentError
from graph_compiler.staging.store.conditional_put import ask_repeatedly, put_once
from graph_compiler.staging.store.folder_access import MOST_REMOVALS
from graph_compiler.staging.store.staging_store import MOST_BYTES, MOST_ENTRIES, StoredFile
from graph_compiler.stores.hdfs import HDFS

_MOST_OF_A_NAME = 200
"""Characters of a name in a hidden one: HDFS takes 255 bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HdfsStatus:
    """A file or a folder. `written`: in seconds since the epoch; `id`: HDFS's own, which outlives renames."""

    name: str
    is_folder: bool
    bytes: int
    written: float
    id: int


class HdfsClient(Protocol):
    """Calls to HDFS; keys are URIs. Each raises FileNotFoundError for what is not there, and OSError."""

    def status(self, key: str) -> HdfsStatus:
        """Return what is under a name."""

    def list(self, folder: str) -> list[HdfsStatus]:
        """Return what is directly in a folder; of a file, only itself."""

    def create(self, key: str, content: bytes) -> None:
        """Write a new file, and the folders around it; raises FileExistsError."""

    def read(self, key: str) -> bytes:
        """Return the content of a file."""

    def rename(self, key: str, to: str, *, replaces: bool = False) -> None:
        """Rename in one step; raises FileExistsError if the new name is taken and must not be replaced."""

    def make_folder(self, folder: str) -> None:
        """Create a folder, and those around it."""

    def delete(self, key: str, *, recursive: bool) -> None:
        """Delete a file, or a folder; nothing happens if there is none."""

    def checksum(self, key: str) -> str:
        """Return the digest of the checksums that HDFS keeps for a file; no data are read."""


class HdfsStore:
    """The store of one HDFS, through a client."""

    promises = HDFS.promises

    def __init__(self, client: HdfsClient) -> None:
        self.client = client

    def put_if_absent(self, key: str, content: bytes) -> bool:
        """Write beside the key, and rename; False if there is a document of another write."""
        hidden = _HiddenFile(self.client, key, content)

        def write(own: str) -> None:
            hidden.put_id = own
            hidden.complete()
            self.client.rename(hidden.name, key)

        def written_by() -> str | None:
            found = self._status(key)
            if found is None:
                return None
            return hidden.put_id if found.id == hidden.id else ""

        try:
            is_mine = put_once(write, written_by)
        except OSError:
            hidden.discard()
            raise
        if not is_mine:
            hidden.discard()
        return is_mine

    def put(self, key: str, content: bytes) -> None:
        """Replace a document."""
        hidden = _HiddenFile(self.client, key, content)
        try:
            hidden.complete()
            self.client.rename(hidden.name, key, replaces=True)
        except OSError:
            hidden.discard()
            raise

    def get(self, key: str, *, most: int = MOST_BYTES) -> bytes | None:
        """Return the content, None if there is none; raises DamagedDocumentError for anything but a document."""

        def read() -> bytes:
            found = self.client.status(key)
            if found.is_folder:
                raise DamagedDocumentError(key, "is a folder")
            if found.bytes > most:
                raise DamagedDocumentError(key, f"has {found.bytes:,} bytes, more than {most:,}")
            return self.client.read(key)

        try:
            return ask_repeatedly(read)
        except FileNotFoundError:
            return None

    def written(self, key: str) -> float | None:
        """Return when a file was written, None if there is none."""
        found = self._status(key)
        return None if found is None else found.written

    def keys(self, folder: str) -> list[str]:
        """List what is directly below a folder, without hidden names."""
        names = (found.name for found in self._few(folder))
        return [f"{folder}/{name}" for name in names if not name.startswith(".")]

    def folders(self, folder: str) -> list[str]:
        """List the folders directly below a folder."""
        return sorted(found.name for found in self._few(folder) if found.is_folder)

    def files(self, folder: str, *, most: int | None = None) -> Iterator[StoredFile]:
        """Yield every file below a folder; a listing has no digests."""
        waiting, seen = [folder], 0
        while waiting:
            around = waiting.pop()
            for found in self._listed(around):
                seen += 1
                if most is not None and seen > most:
                    raise DamagedDocumentError(folder, f"has more than {most:,} entries")
                key = f"{around}/{found.name}"
                if found.is_folder:
                    waiting.append(key)
                else:
                    yield StoredFile(key, found.bytes, found.written)

    def digest(self, key: str) -> str | None:
        """Return HDFS's checksum of a file."""
        try:
            return ask_repeatedly(lambda: self.client.checksum(key))
        except FileNotFoundError:
            return None

    def why_differs(self, key: str, digest: str) -> str | None:
        """Return that a file has another checksum, None if it has this one."""
        found = self.digest(key)
        return None if found == digest else f"its checksum is {found}, not {digest}"

    def why_damaged(self, key: str) -> str | None:
        """Return None: HDFS compares what it reads with its checksums."""

    def make_folder(self, folder: str) -> None:
        """Create a folder; who may enter it is decided by HDFS's settings and the folder around it."""
        ask_repeatedly(lambda: self.client.make_folder(folder))

    def is_open_to_group(self, folder: str) -> bool:  # noqa: ARG002  # the interface
        """Return False: no mode is set here."""
        return False

    def is_there(self, key: str) -> bool:
        """Whether a file or a folder has this name."""
        return self._status(key) is not None

    def move(self, folder: str, to: str) -> bool:
        """Rename a folder; missing parents are created, again if another process removes them while they are empty."""
        for _ in range(MOST_REMOVALS):
            self.make_folder(to.rpartition("/")[0])
            try:
                self.client.rename(folder, to)
            except FileNotFoundError:
                if not self.is_there(folder):
                    return False
            else:
                return True
        raise FileNotFoundError(errno.ENOENT, "the folder around it is removed each time", to)

    def exchange(self, one: str, other: str) -> bool:
        """Never called: HDFS cannot do it."""
        raise NotImplementedError(f"{one} cannot be exchanged with {other} in one step")

    def replace(self, file: str, to: str) -> bool:
        """Rename a file over another."""
        try:
            self.client.rename(file, to, replaces=True)
        except FileNotFoundError:
            return False
        return True

    def file_id(self, key: str) -> str | None:
        """Return HDFS's checksum of a file, which it keeps when it is renamed."""
        found = self._status(key)
        return None if found is None or found.is_folder else self.digest(key)

    def delete(self, key: str) -> bool:
        """Delete a file, or a folder with everything in it; it does not go to HDFS's trash."""
        try:
            ask_repeatedly(lambda: self.client.delete(key, recursive=True))
        except OSError:
            return False
        return True

    def discard_empty(self, folder: str) -> None:
        """Remove a folder if it is empty."""
        with suppress(OSError):  # others have written something there
            self.client.delete(folder, recursive=False)

    def _status(self, key: str) -> HdfsStatus | None:
        try:
            return ask_repeatedly(lambda: self.client.status(key))
        except FileNotFoundError:
            return None

    def _few(self, folder: str) -> list[HdfsStatus]:
        """Return what is in a folder of documents; raises DamagedDocumentError if that is too much."""
        found = self._listed(folder)
        if len(found) > MOST_ENTRIES:
            raise DamagedDocumentError(folder, f"has more than {MOST_ENTRIES:,} entries")
        return found

    def _listed(self, folder: str) -> list[HdfsStatus]:
        try:
            found = ask_repeatedly(lambda: self.client.list(folder))
        except FileNotFoundError:
            return []
        return [each for each in found if each.name]


@dataclass(slots=True)
class _HiddenFile:
    """What is written beside a key. `id` is HDFS's, once the file is complete; `put_id` is that of `put_once`."""

    client: HdfsClient
    key: str
    content: bytes
    name: str = ""
    id: int | None = None
    put_id: str = ""

    def complete(self) -> None:
        """Write it, unless that is done: under a new name each time, since an earlier request may be carried out late.

        Raises OSError, also if HDFS has a part of it only.
        """
        if self.id is not None:
            return
        self.discard()
        folder, _, name = self.key.rpartition("/")
        self.name = f"{folder}/.{name[:_MOST_OF_A_NAME]}.{uuid.uuid4().hex}"
        self.client.create(self.name, self.content)
        found = self.client.status(self.name)
        if found.bytes != len(self.content):
            raise OSError(f"{self.name} has {found.bytes} of {len(self.content)} bytes")
        self.id = found.id

    def discard(self) -> None:
        """Remove it, as far as HDFS answers."""
        if self.name:
            with suppress(OSError):
                self.client.delete(self.name, recursive=False)
