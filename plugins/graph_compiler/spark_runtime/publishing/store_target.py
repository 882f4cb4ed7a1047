"""What targets in an object store and in HDFS have in common: a store behind them, and no links."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from graph_compiler.staging.publications.listing import files_seen
from graph_compiler.staging.publications.publications import Intent, NewFile
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.staging.store.stores import target_store


@dataclass(frozen=True)
class StoreTarget:
    """A folder in a store, by its URI."""

    is_file: ClassVar[bool] = False
    target: str

    @cached_property
    def _store(self) -> StagingStore:
        return target_store(self.target)

    def why_not_writable(self) -> str | None:
        """Return why the store does not answer; who may write is only seen when it is tried."""
        try:
            self._store.is_there(self.target)
        except OSError as error:
            return f"cannot be reached: {error.strerror or error}"
        return None

    def data_files(self) -> frozenset[str]:
        """Return the files that readers see now."""
        return files_seen(self._store, self.target)

    def holds(self, intent: Intent) -> bool:
        """Whether an intent is one of a folder: its names are its own."""
        return intent.file is None

    def new_file(self, execution: str) -> NewFile | None:  # noqa: ARG002  # for files
        """Return None: names show which files are new."""
        return None

    def names_to_remove(
        self,
        gone: frozenset[str],
        replaces: tuple[str, ...],  # noqa: ARG002  # there are no links
        own: frozenset[str],  # noqa: ARG002  # the same
    ) -> frozenset[str]:
        """Return the same names."""
        return gone
