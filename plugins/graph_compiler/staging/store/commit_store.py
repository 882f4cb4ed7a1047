"""Small documents that at most one writer may put under a key: what commits stand on (DESIGN D10).

One implementation for each storage scheme; `file:` here.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Protocol

from graph_compiler.staging.store.bounded_read import names_in, read_bytes
from graph_compiler.staging.store.private_folders import make_private_folder


class CommitStore(Protocol):
    """Keys are absolute paths, as `StagingLayout` gives them.

    Every call raises OSError where the store does not answer, or denies: that is never the same as "not there".
    """

    def put_if_absent(self, key: str, content: bytes) -> bool:
        """Write all of `content` or nothing; False when the key already exists."""

    def get(self, key: str) -> bytes | None:
        """Give the content, None when there is none."""

    def keys(self, folder: str) -> list[str]:
        """List the keys directly below a folder, in no promised order."""


class LocalCommitStore:
    """`file:`: a complete file is linked to its name, which the file system grants to one writer only."""

    def put_if_absent(self, key: str, content: bytes) -> bool:
        """Write, flush to disk, link; False when the key already exists."""
        path = Path(key)
        make_private_folder(path.parent)
        # A name nobody else has: containers on a shared volume often share process ids. Its mode is 0600.
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        unlinked = Path(name)
        try:
            with open(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.link(unlinked, path)
        except FileExistsError:
            return False
        finally:
            unlinked.unlink(missing_ok=True)
        sync_folder(path.parent)
        return True

    def get(self, key: str) -> bytes | None:
        """Return the content, None when there is none; raises DamagedDocumentError for what is no document."""
        return read_bytes(key)

    def keys(self, folder: str) -> list[str]:
        """List the files directly below a folder."""
        return [f"{folder}/{name}" for name in names_in(folder)]


def sync_folder(folder: Path) -> None:
    """Make new names in a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
