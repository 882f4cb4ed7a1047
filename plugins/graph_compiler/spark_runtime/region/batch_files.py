"""The files of a batch: unchanged since Spark listed them, and with the columns that their source declares.

    checkpoint/offsets/7             {"logOffset":3} for each source, one line each
    checkpoint/sources/0/3           {"path":…,"timestamp":…,"batchId":3} for each file; or 9.compact, with all up to 9

Spark reads a file as it is when its batch runs, also if it was not complete when it was listed, or was written again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from urllib.parse import unquote

from pyspark.sql import SparkSession

from graph_compiler.declaration.connectors import FileConnector
from graph_compiler.declaration.connectors.file_uris import local_path
from graph_compiler.declaration.operators import Source
from graph_compiler.deployment.documents.descriptor import OperatorDescriptor
from graph_compiler.errors import SourceChangedError
from graph_compiler.identifiers import counted
from graph_compiler.spark_runtime.connectors import read_source
from graph_compiler.spark_runtime.failures.failures import OperatorFailedError
from graph_compiler.spark_runtime.positions.new_files import PinnedPath
from graph_compiler.spark_runtime.spark_internals.file_listings import modification_times
from graph_compiler.staging.store.staging_store import StagingStore

_MOST_BYTES = 1 << 30
_OF_SOURCES = 2
"""The line of a document of offsets from which each is that of a source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFiles:
    """The files of a batch: for each operator, their paths, and when each was modified, in milliseconds."""

    spark: SparkSession
    files: tuple[tuple[OperatorDescriptor, Mapping[str, int]], ...]

    @classmethod
    def of(
        cls,
        sources: tuple[OperatorDescriptor, ...],
        checkpoint: str,
        batch: int,
        spark: SparkSession,
        store: StagingStore,
    ) -> BatchFiles:
        """Return those of a batch whose offsets are logged. `sources` are in the order of Spark's query."""
        before, until = (_offsets(store, checkpoint, number) for number in (batch - 1, batch))
        found = []
        for number, source in enumerate(sources):
            first = (before[number] if number < len(before) else -1) + 1
            logged = range(first, (until[number] if number < len(until) else -1) + 1)
            files = dict(_logged(store, f"{checkpoint}/sources/{number}", logged))
            found.append((source, files))
        return cls(spark=spark, files=tuple(found))

    def check(self) -> None:
        """Raise OperatorFailedError if a file has changed, or has other columns than its source declares."""
        self.check_unchanged()
        for source, files in self.files:
            connector = source.operator.connector if isinstance(source.operator, Source) else None
            if files and isinstance(connector, FileConnector):
                try:
                    read_source(replace(connector, path=PinnedPath.of(connector.one_path, files)), self.spark)
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


def _failed(source: OperatorDescriptor) -> OperatorFailedError:
    return OperatorFailedError((source,), lambda _: (), writes=False)


def _offsets(store: StagingStore, checkpoint: str, batch: int) -> list[int]:
    """Return the number of each source's last list in a batch, -1 if it has none."""
    content = None if batch < 0 else store.get(f"{checkpoint}/offsets/{batch}", most=_MOST_BYTES)
    if content is None:
        return []
    lines = content.decode().splitlines()[_OF_SOURCES:]
    return [-1 if line == "-" else int(json.loads(line)["logOffset"]) for line in lines]


def _logged(store: StagingStore, folder: str, numbers: range) -> Iterator[tuple[str, int]]:
    """Yield the files of some lists of a source, and when each was modified."""
    for number in numbers:
        content = store.get(f"{folder}/{number}", most=_MOST_BYTES)
        if content is None:
            content = store.get(f"{folder}/{number}.compact", most=_MOST_BYTES) or b""
        for line in content.decode().splitlines()[1:]:
            entry = json.loads(line)
            if entry["batchId"] == number:
                yield unquote(str(entry["path"])), int(entry["timestamp"])
