"""A target in an object store: files are written under their final names, and appear when they are published.

<target>/__magic_job-<execution>/__base    where Spark writes; S3A sends each file's parts to its final name
<target>/.graph_compiler/<execution>       what is known of these files, and rows that are not merged yet
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import DataFrame

from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.errors import PublicationError
from graph_compiler.identifiers import counted
from graph_compiler.spark_runtime.exchange.distribution import has_exactly
from graph_compiler.spark_runtime.publishing.one_file import OneFileTarget
from graph_compiler.spark_runtime.publishing.partition_names import watch_folders
from graph_compiler.spark_runtime.publishing.store_target import StoreTarget
from graph_compiler.spark_runtime.publishing.written_files import FileFormat, WrittenFile, read_aside, without_rows
from graph_compiler.spark_runtime.spark_internals.direct_write import DirectWrite, write_directly
from graph_compiler.staging.publications.carrier import (
    DeferredFiles,
    UploadedFile,
    UploadedFiles,
    carry_out,
    files_document,
)
from graph_compiler.staging.publications.preparations import WRITING, beside_in_store, inside_bucket, written_in_bucket
from graph_compiler.staging.publications.publications import Intent, NewFile
from graph_compiler.staging.store.deferred_files import DeferredFile, DeferringStore
from graph_compiler.staging.store.read_document import get_document
from graph_compiler.staging.store.stores import deferring_store

_ASIDE = "aside"


@dataclass(frozen=True)
class BucketTarget(StoreTarget):
    """A prefix of a bucket, `s3a://bucket/prefix`."""

    @cached_property
    def _store(self) -> DeferringStore:
        return deferring_store(self.target)

    def why_unfit(self) -> str | None:
        """Return that it is an object: readers would read that, and nothing below it."""
        return None if self._store.digest(self.target) is None else "is an object"

    def prepared(self, execution: str) -> str:
        """Return the folder of an execution's documents, in the target."""
        return inside_bucket(self.target, execution)

    def set_aside(self, execution: str, rows: DataFrame, format: FileFormat) -> tuple[DataFrame, int]:
        """Write rows as objects that no reader of the target sees."""
        folder = f"{self.prepared(execution)}/{_ASIDE}"
        direct = write_directly(rows, folder, format=format.name, options=format.options)
        # Attempts that do not count may have left files, so the folder is not read as a whole.
        files = [f"{folder}/{file.name}" for file in direct.files]
        return read_aside(rows, format, *files), direct.counted.rows

    def write(self, execution: str, rows: DataFrame, format: FileFormat) -> tuple[tuple[WrittenFile, ...], int]:
        """Write rows, and compare the parts that the store has with what was written."""
        if format.files is not None and not has_exactly(rows, format.files):
            rows = rows.repartition(format.files)
        watched = watch_folders(rows, format.partition_by)
        writing = self._writing(execution)
        direct = write_directly(
            watched.rows, writing, format=format.name, options=format.options, partition_by=format.partition_by
        )
        watched.check()
        files = self._record(execution, direct)
        found = len(files), sum(file.bytes for file in files)
        if found != (direct.counted.files, direct.counted.bytes):
            raise PublicationError(
                f"executors wrote {counted(direct.counted.files, 'file')} of {direct.counted.bytes:,} bytes for "
                f"{self.target}, but {found[0]} of {found[1]:,} would appear; nothing of it is visible"
            )
        return files, direct.counted.rows

    def write_empty(self, execution: str, rows: DataFrame, format: FileFormat) -> tuple[WrittenFile, ...]:
        """Write a file without rows."""
        nothing, writing = without_rows(rows, format), self._writing(execution)
        direct = write_directly(nothing, writing, format=format.name, options=format.options)
        return self._record(execution, direct)

    def arrange(
        self,
        execution: str,
        files: Sequence[WrittenFile],
        *,
        is_marker: bool,  # noqa: ARG002  # names are Spark's
    ) -> tuple[str, ...]:
        """Return the names that the files have already, and remove what was written beside them."""
        names, prepared = tuple(file.name for file in files), self.prepared(execution)
        uncounted = self._store.all_written_files(self._writing(execution), but=names)
        self._store.abort(uncounted)
        self._store.delete(written_in_bucket(prepared))
        self._store.delete(f"{prepared}/{_ASIDE}")
        return names

    def find_in_the_way(
        self,
        add: Iterable[str],  # noqa: ARG002  # a key may be the beginning of another
        replaces: tuple[str, ...],  # noqa: ARG002  # the same
        remove: frozenset[str],  # noqa: ARG002  # the same
    ) -> frozenset[str]:
        """Return nothing."""
        return frozenset()

    def carry_out(self, intent: Intent, is_open: Callable[[], bool]) -> None:
        """Let the files appear."""
        carry_out(UploadedFiles(intent, self._store), is_open)

    def discard(self, execution: str) -> None:
        """Abort what was written, and remove what is known of it; raises OSError if the store does not do it."""
        prepared = self.prepared(execution)
        self._store.abort(self._store.all_written_files(self._writing(execution)))
        self._store.abort(self._recorded(execution))
        self._store.delete(written_in_bucket(prepared))
        self._store.delete(prepared)

    def _writing(self, execution: str) -> str:
        return self._store.writing_folder(self.target, execution)

    def _record(self, execution: str, direct: DirectWrite) -> tuple[WrittenFile, ...]:
        """Record the files that are to appear, for the execution that publishes them."""
        names = [file.name for file in direct.files]
        files = self._store.written_files(self._writing(execution), names)
        document = to_json(DeferredFiles(files=files)).encode()
        self._store.put(files_document(self.prepared(execution)), document)
        return tuple(WrittenFile(name=name, bytes=file.bytes) for name, file in zip(names, files, strict=True))

    def _recorded(self, execution: str) -> tuple[DeferredFile, ...]:
        key = files_document(self.prepared(execution))
        found = get_document(self._store, key, DeferredFiles)
        return () if found is None else found.files


class BucketFile(OneFileTarget, BucketTarget):
    """One object, `s3a://bucket/prefix/report.csv`.

    Spark chooses the names of its files, and an upload has its name from the beginning. So the driver copies what Spark
    has written into an upload to the target, which replaces the object there when it is completed.
    """

    def why_unfit(self) -> str | None:
        """Return that there are objects below it: readers would not see those any more."""
        is_folder = self._store.file_id(self.target) is None and bool(super().data_files())
        return "is a folder" if is_folder else None

    def data_files(self) -> frozenset[str]:
        """Return its name if there is an object."""
        return frozenset({self.name} if self._store.file_id(self.target) is not None else ())

    def prepared(self, execution: str) -> str:
        """Return the folder of an execution's documents, beside the target."""
        return beside_in_store(self.target, execution)

    def write(self, execution: str, rows: DataFrame, format: FileFormat) -> tuple[tuple[WrittenFile, ...], int]:
        """Write rows beside the target, and compare the object with what was written."""
        if not has_exactly(rows, 1):
            rows = rows.repartition(1)
        return self._written(execution, rows, format)

    def write_empty(self, execution: str, rows: DataFrame, format: FileFormat) -> tuple[WrittenFile, ...]:
        """Write a file without rows."""
        return self._written(execution, without_rows(rows, format), format)[0]

    def arrange(self, execution: str, files: Sequence[WrittenFile], *, is_marker: bool) -> tuple[str, ...]:  # noqa: ARG002  # it has no folders
        """Copy the file into an upload to the target."""
        prepared = self.prepared(execution)
        key = f"{prepared}/{_ASIDE}/{self.only(files).name}"
        id, upload = self._store.defer_copy(key, self.target, self._writing(execution))
        document = to_json(NewFile(id=id, upload=upload)).encode()
        self._store.put(files_document(prepared), document)
        self._store.delete(written_in_bucket(prepared))
        self._store.delete(f"{prepared}/{_ASIDE}")
        return (self.name,)

    def new_file(self, execution: str) -> NewFile:
        """Return the file that is prepared, by the id of its write, with its upload."""
        found = get_document(self._store, files_document(self.prepared(execution)), NewFile)
        assert found is not None, "it was arranged"
        return found

    def carry_out(self, intent: Intent, is_open: Callable[[], bool]) -> None:
        """Let the file appear."""
        carry_out(UploadedFile(intent, self._store), is_open)

    def _writing(self, execution: str) -> str:
        around, _, written = written_in_bucket(self.prepared(execution)).rpartition("/")
        return self._store.writing_folder(around, written.removeprefix(WRITING))

    def _written(self, execution: str, rows: DataFrame, format: FileFormat) -> tuple[tuple[WrittenFile, ...], int]:
        folder = f"{self.prepared(execution)}/{_ASIDE}"
        direct = write_directly(rows, folder, format=format.name, options=format.options)
        there = {file.key: file.bytes for file in self._store.files(folder)}
        files = tuple(WrittenFile(name=each.name, bytes=there[f"{folder}/{each.name}"]) for each in direct.files)
        found = len(files), sum(file.bytes for file in files)
        if found != (direct.counted.files, direct.counted.bytes):
            raise PublicationError(
                f"executors wrote {counted(direct.counted.files, 'file')} of {direct.counted.bytes:,} bytes for "
                f"{self.target}, and the store has {found[0]} of {found[1]:,}; nothing of it is visible"
            )
        return files, direct.counted.rows

    def _recorded(self, execution: str) -> tuple[DeferredFile, ...]:
        found = get_document(self._store, files_document(self.prepared(execution)), NewFile)
        return (found.upload,) if found is not None and found.upload is not None else ()
