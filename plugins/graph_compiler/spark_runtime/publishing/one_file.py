"""A target that is one file: the steps of its publication that are the same in every store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from graph_compiler.declaration.connectors.file_names import why_read_otherwise
from graph_compiler.errors import PublicationError
from graph_compiler.identifiers import counted
from graph_compiler.spark_runtime.publishing.written_files import WrittenFile
from graph_compiler.staging.publications.publications import Intent
from graph_compiler.staging.store.stores import target_store


class OneFileTarget:
    """Goes before the target of a store among the base classes."""

    is_file: ClassVar[bool] = True
    target: str

    @property
    def name(self) -> str:
        """Return the name of the file."""
        return self.target.rpartition("/")[2]

    def holds(self, intent: Intent) -> bool:
        """Whether the file that an intent adds is there, and no other has taken its place."""
        return intent.file is not None and target_store(self.target).file_id(self.target) == intent.file.id

    def names_to_remove(
        self,
        gone: frozenset[str],  # noqa: ARG002  # the new file takes its place
        replaces: tuple[str, ...],  # noqa: ARG002  # the same
        own: frozenset[str],  # noqa: ARG002  # the same
    ) -> frozenset[str]:
        """Return nothing: the new file takes the place of the old one."""
        return frozenset()

    def find_in_the_way(
        self,
        add: Iterable[str],  # noqa: ARG002  # it is in no folder
        replaces: tuple[str, ...],  # noqa: ARG002  # the same
        remove: frozenset[str],  # noqa: ARG002  # the same
    ) -> frozenset[str]:
        """Return nothing."""
        return frozenset()

    def only(self, files: Sequence[WrittenFile]) -> WrittenFile:
        """Return the file that was written.

        Raises PublicationError if there are several, or if readers would not decompress it by the target's name.
        """
        if len(files) != 1:
            raise PublicationError(f"its rows are in {counted(len(files), 'file')}, and {self.target} is one")
        _, _, *compression = files[0].suffix.split(".")
        if wrong := why_read_otherwise(self.target, "".join(f".{each}" for each in compression)):
            raise PublicationError(f"its target is {self.target}: {wrong}")
        return files[0]
