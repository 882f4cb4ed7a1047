"""The files of a batch: unchanged since Spark listed them, and with the columns that their source declares.

Spark reads a file as it is when its batch runs, also if it was not complete when it was listed, or was written again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import SparkSession

from graph_compiler.declaration.connectors import FileConnector
from graph_compiler.declaration.connectors.file_uris import local_path
from graph_compiler.declaration.connectors.files import plain_place
from graph_compiler.declaration.operators import Source
from graph_compiler.deployment.documents.descriptor import OperatorDescriptor
from graph_compiler.errors import SourceChangedError, UnreadFilesError
from graph_compiler.identifiers import counted
from graph_compiler.spark_runtime.connectors.file_source import check_files
from graph_compiler.spark_runtime.failures.failures import OperatorFailedError
from graph_compiler.spark_runtime.positions.new_files import files_now
from graph_compiler.spark_runtime.spark_internals.file_listings import modification_times
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.staging.streams.batch_log import all_files, files_of, offsets_of

_OF_PATTERNS = re.compile(r"[{}\[\]*?\\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFiles:
    """The files of a batch: for each operator, their paths, and when each was modified, in milliseconds."""

    spark: SparkSession
    files: tuple[tuple[OperatorDescriptor, Mapping[str, int]], ...]

    @classmethod
    def of(
        cls,
        sources: Mapping[int, OperatorDescriptor],
        checkpoint: str,
        batch: int,
        spark: SparkSession,
        store: StagingStore,
    ) -> BatchFiles:
        """Return those of a batch whose offsets are logged.

        `sources` are in the order of Spark's query, by their places in the offsets.
        """
        before, until = (offsets_of(store, checkpoint, number) for number in (batch - 1, batch))
        found = []
        for number, (place, source) in enumerate(sources.items()):
            first = (before[place] if place < len(before) else -1) + 1
            logged = range(first, (until[place] if place < len(until) else -1) + 1)
            files = dict(files_of(store, f"{checkpoint}/sources/{number}", logged))
            found.append((source, files))
        return cls(spark=spark, files=tuple(found))

    def check(self) -> None:
        """Raise OperatorFailedError if a file has changed, or has other columns than its source declares."""
        self.check_unchanged()
        for source, files in self.files:
            connector = source.operator.connector if isinstance(source.operator, Source) else None
            if files and isinstance(connector, FileConnector):
                try:
                    check_files(connector, tuple(files), self.spark)
                except Exception as error:  # of any kind: it is its reader's
                    raise _failed(source) from error

    def check_unchanged(self) -> None:
        """Raise OperatorFailedError, with a SourceChangedError, if a file is not as it was listed."""
        for source, files in self.files:
            now = modification_times(self.spark, files)
            if wrong := [path for path, modified in files.items() if now.get(path) != modified]:
                path = wrong[0]
                what = "has changed" if path in now else "is gone"
                others = f", and so are {counted(len(wrong) - 1, 'other file')}" if wrong[1:] else ""
                raise _failed(source) from SourceChangedError(
                    f"{local_path(path) or path} {what} since the stream has listed it{others}\n"
                    "  allowed: files that are complete when they get their name, and do not change\n"
                    "  hint: put back what was there, with its time of modification (touch -d); new rows in new files"
                )


def check_folders(
    sources: tuple[OperatorDescriptor, ...], checkpoint: str, spark: SparkSession, store: StagingStore
) -> None:
    """Raise OperatorFailedError if Spark would leave out rows of a file, or read rows of others with it.

    It knows a file by its path, and would leave out what is written into it later. A path with the characters of a
    pattern is one for it, and matches other files, too.
    """
    for number, source in enumerate(sources):
        connector = source.operator.connector if isinstance(source.operator, Source) else None
        seen = {plain_place(path): modified for path, modified in all_files(store, f"{checkpoint}/sources/{number}")}
        if not isinstance(connector, FileConnector):
            continue
        now = {plain_place(file.path): file.modified for file in files_now(connector, spark)}
        if odd := sorted(path for path in now if path not in seen and _OF_PATTERNS.search(path)):
            raise _failed(source) from UnreadFilesError(
                f"{odd[0]} has a character of patterns in its path, and Spark's streams read other files with it\n"
                "  allowed: paths without { } [ ] * ? and backslash\n  hint: give the file another name"
            )
        if wrong := sorted(path for path, modified in now.items() if seen.get(path, modified) != modified):
            others = f", and so were {counted(len(wrong) - 1, 'other file')}" if wrong[1:] else ""
            raise _failed(source) from SourceChangedError(
                f"{wrong[0]} was written again after the stream had read it{others}: what it had then is published\n"
                "  allowed: files that are complete when they get their name, and do not change\n"
                "  hint: give it another name, if all of it is new, and put back what was there under this one, with "
                "its time of modification (touch -d); or remove it"
            )


def _failed(source: OperatorDescriptor) -> OperatorFailedError:
    return OperatorFailedError((source,), lambda _: (), writes=False)
