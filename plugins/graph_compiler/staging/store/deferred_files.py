"""Stores in which a file can be written completely, and appear later, in one step (decision 47).

written      its parts are in the store, under its final name, and no reader sees it
completed    it is there as a whole; the parts cannot be completed again
aborted      its parts are removed
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from graph_compiler.staging.store.staging_store import StagingStore


@dataclass(frozen=True, slots=True, kw_only=True)
class DeferredFile:
    """A file that is written and is not there yet; `ticket` is what its store needs to complete it."""

    key: str
    bytes: int
    ticket: str


class DeferringStore(StagingStore, Protocol):
    """The operations that a publication to an object store needs in addition. Every call raises OSError."""

    def writing_folder(self, folder: str, writer: str) -> str:
        """Return where Spark has to write, so that files with these names appear in `folder` when they are completed.

        `writer` is the name of an execution, one part of a path.
        """

    def written_files(self, writing: str, names: Sequence[str]) -> tuple[DeferredFile, ...]:
        """Return the files that were written there under these names; raises StagingError if one was not deferred."""

    def defer_copy(self, key: str, to: str, writing: str) -> tuple[str, DeferredFile]:
        """Copy a file into one that appears as `to`, over what is there, when it is completed.

        `writing` is the `writing_folder` of the folder of `to`. Return the `file_id` that it will have, too.
        """

    def all_written_files(self, writing: str, *, but: Collection[str] = ()) -> tuple[DeferredFile, ...]:
        """Return every file whose writer has finished it but these, also of task attempts that do not count."""

    def complete(self, files: Sequence[DeferredFile]) -> None:
        """Let files appear, in any order. What is completed or aborted already stays as it is."""

    def abort(self, files: Sequence[DeferredFile]) -> None:
        """Remove files that are not completed; what is completed stays."""

    def abort_uploads(self, folder: str, keys: Collection[str]) -> frozenset[str]:
        """Abort all uploads to these files of a folder that are not completed; return the files that had one."""

    def delete_files(self, keys: Iterable[str]) -> None:
        """Delete exactly these files, nothing below them; missing ones do not matter."""
