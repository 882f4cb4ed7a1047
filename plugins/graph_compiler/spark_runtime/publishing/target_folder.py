"""A folder, or one file, that rows are published to: on a disk, in an object store, in HDFS; `open_target` opens it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from pyspark.sql import DataFrame

from graph_compiler.declaration.connectors.file_uris import local_path, places_with_stores, target_place, why_no_target
from graph_compiler.errors import PublicationError
from graph_compiler.spark_runtime.publishing.written_files import FileFormat, WrittenFile
from graph_compiler.staging.publications.publications import Intent, NewFile
from graph_compiler.staging.store.stores import target_store


class TargetFolder(Protocol):
    """The steps of a publication that depend on the target's store; `execution` is an execution's name in paths."""

    @property
    def is_file(self) -> bool:
        """Whether the target is one file: then that has the only name in it."""

    @property
    def target(self) -> str:
        """Return its normalized path or URI, by which its ledger is found."""

    def why_unfit(self) -> str | None:
        """Return why it cannot be a folder of files, or one file; None if it can."""

    def why_not_writable(self) -> str | None:
        """Return why nothing can be written to it, as far as it can be seen before; None if nothing is known."""

    def data_files(self) -> frozenset[str]:
        """Return the files that readers see now, by relative name."""

    def holds(self, intent: Intent) -> bool:
        """Whether what an intent adds may be there, under the names that it has."""

    def prepared(self, execution: str) -> str:
        """Return the folder that belongs to an execution, which readers do not see."""

    def set_aside(self, execution: str, rows: DataFrame, format: FileFormat) -> tuple[DataFrame, int]:
        """Write rows to a place from which they can be read repeatedly; return them and their number."""

    def write(self, execution: str, rows: DataFrame, format: FileFormat) -> tuple[tuple[WrittenFile, ...], int]:
        """Write rows where no reader sees them; return the files and the number of rows in them.

        Raises PublicationError if the files do not have the rows that were written.
        """

    def write_empty(self, execution: str, rows: DataFrame, format: FileFormat) -> tuple[WrittenFile, ...]:
        """Write a file with the columns and without rows, for a target without files."""

    def arrange(self, execution: str, files: Sequence[WrittenFile], *, is_marker: bool) -> tuple[str, ...]:
        """Return the final names of written files, which they have now; what was written beside them is removed."""

    def new_file(self, execution: str) -> NewFile | None:
        """Return the one file that is prepared; None in a folder, where names show which files are new."""

    def names_to_remove(self, gone: frozenset[str], replaces: tuple[str, ...], own: frozenset[str]) -> frozenset[str]:
        """Return what must be removed to remove these files; raises PublicationError if it is not the target's."""

    def find_in_the_way(self, add: Iterable[str], replaces: tuple[str, ...], remove: frozenset[str]) -> frozenset[str]:
        """Return what else must be removed before new files can appear; raises PublicationError if it must stay."""

    def carry_out(self, intent: Intent, is_open: Callable[[], bool]) -> None:
        """Bring the new files in, and take the removed ones out; may be repeated, and done by several at once.

        `is_open`: whether no end is recorded.
        """

    def discard(self, execution: str) -> None:
        """Remove what an execution has written and will not publish."""


def open_target(path: str, *, is_file: bool = False) -> TargetFolder:
    """Return the folder, or the file, of a sink's path; raises PublicationError if nothing can be published there."""
    target = target_place(path)
    if target is None:
        raise PublicationError(f"its target is '{path}': {why_no_target(path)}; allowed: {places_with_stores()}")
    promises = target_store(target).promises  # refused before any row is moved
    if is_file and not promises.publishes_one_file:
        raise PublicationError(f"its target {target} is in a store in which no file can replace another in one step")
    if local_path(target) is not None:
        from graph_compiler.spark_runtime.publishing.local_target import LocalFile, LocalTarget

        return LocalFile(target) if is_file else LocalTarget(target)
    if promises.deferred_files:
        from graph_compiler.spark_runtime.publishing.bucket_target import BucketFile, BucketTarget

        return BucketFile(target) if is_file else BucketTarget(target)
    from graph_compiler.spark_runtime.publishing.hdfs_target import HdfsFile, HdfsTarget

    return HdfsFile(target) if is_file else HdfsTarget(target)


def why_unfit(folder: TargetFolder) -> str | None:
    """Return the problem of a target that cannot be what it is declared as, None if it can."""
    if (wrong := folder.why_unfit()) is None:
        return None
    allowed = "a file, or a path at which nothing is" if folder.is_file else "a folder, or a path that does not exist"
    return f"its target {folder.target} {wrong}; allowed: {allowed}"
