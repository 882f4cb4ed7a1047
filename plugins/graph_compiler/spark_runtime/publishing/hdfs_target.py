"""A target in HDFS: rows are written beside it, and renamed into it.

<parent>/.<name>.graph_compiler/<execution>    where an execution prepares rows
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame

from graph_compiler.errors import PublicationError
from graph_compiler.spark_runtime.publishing.one_file import OneFileTarget
from graph_compiler.spark_runtime.publishing.store_target import StoreTarget
from graph_compiler.spark_runtime.publishing.written_files import (
    FileFormat,
    WrittenFile,
    in_store,
    published_name,
    read_aside,
    write_empty_file,
    write_files,
)
from graph_compiler.staging.publications.carrier import RenamedFile, RenamedFiles, carry_out, remove_empty
from graph_compiler.staging.publications.preparations import beside_in_store
from graph_compiler.staging.publications.publications import Intent, NewFile

_WRITTEN, _READY = "written", "ready"  # as Spark wrote it, and under final names
_ASIDE = "aside"  # rows that are not merged yet


@dataclass(frozen=True)
class HdfsTarget(StoreTarget):
    """A folder of HDFS, `hdfs://host:port/path`."""

    def why_unfit(self) -> str | None:
        """Return that it is a file."""
        return None if self._store.digest(self.target) is None else "is a file"

    def prepared(self, execution: str) -> str:
        """Return an execution's folder, from which files can be renamed into the target."""
        return beside_in_store(self.target, execution)

    def set_aside(self, execution: str, rows: DataFrame, format: FileFormat) -> tuple[DataFrame, int]:
        """Write rows beside those that are published."""
        folder = f"{self.prepared(execution)}/{_ASIDE}"
        plain = FileFormat(name=format.name, options=format.options)
        _, count = write_files(rows, folder, plain, in_store(self._store))
        return read_aside(rows, format, folder), count

    def write(self, execution: str, rows: DataFrame, format: FileFormat) -> tuple[tuple[WrittenFile, ...], int]:
        """Write rows, and compare the files with what was written."""
        return write_files(rows, self._written(execution), format, in_store(self._store))

    def write_empty(self, execution: str, rows: DataFrame, format: FileFormat) -> tuple[WrittenFile, ...]:
        """Write a file without rows."""
        return write_empty_file(rows, self._written(execution), format, in_store(self._store))

    def arrange(self, execution: str, files: Sequence[WrittenFile], *, is_marker: bool) -> tuple[str, ...]:
        """Rename files to their final names, which contain the execution's, in a folder with nothing else."""
        names = [published_name(file, number, execution, is_marker=is_marker) for number, file in enumerate(files)]
        return self._rename(execution, files, names)

    def _rename(self, execution: str, files: Sequence[WrittenFile], names: Sequence[str]) -> tuple[str, ...]:
        prepared = self.prepared(execution)
        for file, name in zip(files, names, strict=True):
            ready = f"{prepared}/{_READY}/{name}"
            is_moved = self._store.move(f"{prepared}/{_WRITTEN}/{file.name}", ready)
            if not is_moved and not self._store.is_there(ready):  # a request may be repeated
                raise PublicationError(f"{file.name}, which Spark has written for {self.target}, is gone")
        for folder in (_WRITTEN, _ASIDE):
            self._store.delete(f"{prepared}/{folder}")
        return tuple(names)

    def find_in_the_way(
        self,
        add: Iterable[str],
        replaces: tuple[str, ...],  # noqa: ARG002  # folders stay
        remove: frozenset[str],  # noqa: ARG002  # a file is removed after others are added
    ) -> frozenset[str]:
        """Return nothing; raises PublicationError if a file is where a partition's folder must be."""
        needed = {
            "/".join(parts[:depth])
            for parts in (name.split("/")[:-1] for name in add)
            for depth in range(1, len(parts) + 1)
        }
        if files := sorted(needed & self.data_files()):
            raise PublicationError(
                f"its target {self.target} has a file {files[0]} where a partition's folder must be\n  hint: remove it"
            )
        return frozenset()

    def carry_out(self, intent: Intent, is_open: Callable[[], bool]) -> None:
        """Rename the files into the target."""
        carry_out(RenamedFiles(intent, self._store), is_open)

    def discard(self, execution: str) -> None:
        """Remove an execution's folder; raises OSError if some of it is left."""
        prepared = self.prepared(execution)
        if not self._store.delete(prepared):
            raise OSError(errno.EIO, "cannot be deleted", prepared)
        remove_empty(prepared, self._store)

    def _written(self, execution: str) -> str:
        return f"{self.prepared(execution)}/{_WRITTEN}"


class HdfsFile(OneFileTarget, HdfsTarget):
    """One file of HDFS, `hdfs://host:port/path/report.csv`."""

    def why_unfit(self) -> str | None:
        """Return that it is a folder."""
        is_folder = self._store.is_there(self.target) and self._store.file_id(self.target) is None
        return "is a folder" if is_folder else None

    def data_files(self) -> frozenset[str]:
        """Return its name if there is a file."""
        return frozenset({self.name} if self._store.file_id(self.target) is not None else ())

    def arrange(self, execution: str, files: Sequence[WrittenFile], *, is_marker: bool) -> tuple[str, ...]:  # noqa: ARG002  # it has no folders
        """Return its name, which the file has now, in a folder with nothing else."""
        return self._rename(execution, [self.only(files)], [self.name])

    def new_file(self, execution: str) -> NewFile:
        """Return the file that is prepared, by the checksum that HDFS keeps."""
        id = self._store.file_id(f"{self.prepared(execution)}/{_READY}/{self.name}")
        assert id is not None, "it was arranged"
        return NewFile(id=id)

    def carry_out(self, intent: Intent, is_open: Callable[[], bool]) -> None:
        """Rename the file to its place."""
        carry_out(RenamedFile(intent, self._store), is_open)
