"""What all that lies below a staging root is kept in, whatever its scheme: documents, and the data they speak of.

    documents   small, put by at most one writer under a key; what commits stand on (decision 10)
    data        files that Spark writes and reads by itself; here they are listed, moved and deleted

Keys and folders are absolute paths or URIs, as `StagingLayout` gives them. Every call raises OSError where the store
does not answer, or denies: that is never the same as "not there".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

MOST_BYTES = 64_000_000
"""Of one document; that of 1,000 vertices has half a million."""
MOST_ENTRIES = 100_000
"""Names in one folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Promises:
    """What a store can do in one step; a publication picks its protocol by these, and not by a scheme.

    `conditional_put`: of several writers of a key one wins; no staging root is without it. `atomic_move`: a folder is
    under one name or the other; nothing is published to files without it. `atomic_exchange`: two folders take each
    other's place; without it files come one by one, and readers see a mixture for a while.
    """

    conditional_put: bool
    atomic_move: bool
    atomic_exchange: bool


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file by its key, its size, and when it was written, in seconds since the epoch."""

    key: str
    bytes: int
    written: float


class StagingStore(Protocol):
    """Everything that a store must do; `staging/store/stores.py` makes the one of a root."""

    @property
    def promises(self) -> Promises:
        """Return what this store can do in one step."""

    def put_if_absent(self, key: str, content: bytes) -> bool:
        """Write all of `content` or nothing; False when the key already exists."""

    def put(self, key: str, content: bytes) -> None:
        """Write a document over another, so that readers see all of one; a power cut may take it away."""

    def get(self, key: str, *, most: int = MOST_BYTES) -> bytes | None:
        """Return the content, None when there is none.

        Raises DamagedDocumentError for what is no document, or has more bytes than `most`.
        """

    def written(self, key: str) -> float | None:
        """Return when a document was written, in seconds since the epoch, None where there is none."""

    def keys(self, folder: str) -> list[str]:
        """Return the keys directly below a folder, in no promised order, but for hidden ones.

        On a disk folders are among them: anyone who reads one as a document finds it damaged.
        """

    def folders(self, folder: str) -> list[str]:
        """Return the names of the folders directly below a folder, sorted, hidden ones too."""

    def files(self, folder: str, *, most: int | None = None) -> Iterator[StoredFile]:
        """Yield every file below a folder, however deep, hidden ones too; what vanishes meanwhile is left out.

        Raises DamagedDocumentError where there are more than `most` names, those of folders among them.
        """

    def digest(self, key: str) -> str | None:
        """Return what the store keeps to vouch for a file's bytes, None where it has nothing; no data are read."""

    def why_differs(self, key: str, digest: str) -> str | None:
        """Say why what vouches for a file is not this digest any more, None where it is; no data are read."""

    def why_damaged(self, key: str) -> str | None:
        """Say where a file differs from what vouches for it, None where nothing tells; all of it is read."""

    def make_folder(self, folder: str) -> None:
        """Make a folder that only its owner may enter, where a store has folders of their own."""

    def is_there(self, key: str) -> bool:
        """Whether there is a document under a key, or a folder of this name."""

    def move(self, folder: str, to: str) -> bool:
        """Rename a folder, in one step where that is promised; False where it is not there."""

    def exchange(self, one: str, other: str) -> bool:
        """Let two folders take each other's place in one step; asked only where that is promised.

        False, having changed nothing, where these two cannot: they lie on two mounts, or are somebody else's.
        """

    def delete(self, key: str) -> bool:
        """Delete a document, or a folder with all below it; False where something of it could not be deleted."""

    def discard_empty(self, folder: str) -> None:
        """Remove a folder if nothing is in it, where a store has folders of their own."""
