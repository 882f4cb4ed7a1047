"""Files that arrive: unchanged since Spark listed them, and with the columns that their source declares.

Spark reads a file as it is when its batch runs, also if it was not complete when it was listed, or was written again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import DataFrame, SparkSession

from graph_compiler.declaration.connectors import FileConnector
from graph_compiler.declaration.connectors.file_uris import local_path
from graph_compiler.declaration.connectors.files import plain_place
from graph_compiler.errors import SourceChangedError, UnreadFilesError
from graph_compiler.identifiers import counted
from graph_compiler.spark_runtime.connectors.arriving.arriving_source import (
    SOURCE,
    ArrivingSource,
    BatchInput,
    SourceLog,
    arriving_source,
)
from graph_compiler.spark_runtime.connectors.file_source import FooterColumns, check_files, read_stream
from graph_compiler.spark_runtime.positions.new_files import files_now
from graph_compiler.spark_runtime.spark_internals.file_listings import modification_times
from graph_compiler.staging.attempts.run_marker import moment
from graph_compiler.staging.streams.batch_log import COMPACT, all_files, files_of

_OF_PATTERNS = re.compile(r"[{}\[\]*?\\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivingFiles(ArrivingSource):
    """The files of one folder."""

    connector: FileConnector
    spark: SparkSession
    name: str
    footers: FooterColumns

    def read(self) -> DataFrame:
        """Return the rows of files that arrive."""
        return read_stream(self.connector, self.spark, {SOURCE: self.name})

    def check_start(self, log: SourceLog, last: str | None) -> None:  # noqa: ARG002  # the log has the files, too
        """Raise SourceChangedError for a file that was written again, UnreadFilesError for a name that is a pattern.

        Spark knows a file by its path, and would leave out what is written into it later. A path with the characters
        of a pattern is one for it, and matches other files, too.
        """
        seen = {plain_place(path): modified for path, modified in all_files(log.store, log.folder)}
        now = {plain_place(file.path): file.modified for file in files_now(self.connector, self.spark)}
        _refuse_patterns(path for path in now if path not in seen)
        if wrong := sorted(path for path, modified in now.items() if seen.get(path, modified) != modified):
            others = f", and so were {counted(len(wrong) - 1, 'other file')}" if wrong[1:] else ""
            raise SourceChangedError(
                f"{wrong[0]} was written again after the stream had read it{others}: what it had then is published\n"
                "  allowed: files that are complete when they get their name, and do not change\n"
                "  hint: give it another name, if all of it is new, and put back what was there under this one, with "
                "its time of modification (touch -d); or remove it"
            )

    def of_batch(self, log: SourceLog, before: str | None, until: str | None) -> BatchInput:
        """Return the files that Spark has listed for a batch."""
        logged = range(_number(before) + 1, _number(until) + 1)
        files = dict(files_of(log.store, log.folder, logged))
        return BatchFiles(footers=self.footers, files=files)

    def withdraw(self, log: SourceLog, before: str | None, until: str | None) -> None:
        """Remove the lists of files of a batch: Spark keeps older ones beside a list that has them all."""
        for number in range(_number(before) + 1, _number(until) + 1):
            for name in (f"{number}", f"{number}{COMPACT}", f".{number}.crc", f".{number}{COMPACT}.crc"):
                log.store.delete(f"{log.folder}/{name}")


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFiles(BatchInput):
    """The files of a batch: their paths, and when each was modified, in milliseconds."""

    footers: FooterColumns
    files: Mapping[str, int]

    def check(self) -> None:
        """Raise SourceChangedError if a file has changed, SchemaChangedError if it has other columns than declared.

        Raises UnreadFilesError if a name is a pattern: Spark reads the other files of the batch once more for it.
        """
        _refuse_patterns(map(plain_place, self.files))
        self.check_unchanged()
        if self.files:
            check_files(self.footers, tuple(self.files))

    def oldest(self) -> datetime | None:
        """Return when its oldest file was written, None if it has none."""
        return moment(min(self.files.values()) / 1000) if self.files else None

    def check_unchanged(self) -> None:
        """Raise SourceChangedError if a file is not as it was listed."""
        now = modification_times(self.footers.spark, self.files)
        if wrong := [path for path, modified in self.files.items() if now.get(path) != modified]:
            path = wrong[0]
            what = "has changed" if path in now else "is gone"
            others = f", and so are {counted(len(wrong) - 1, 'other file')}" if wrong[1:] else ""
            raise SourceChangedError(
                f"{local_path(path) or path} {what} since the stream has listed it{others}\n"
                "  allowed: files that are complete when they get their name, and do not change\n"
                "  hint: put back what was there, with its time of modification (touch -d); new rows in new files"
            )


@arriving_source.register
def _(connector: FileConnector, spark: SparkSession, name: str) -> ArrivingSource:
    return ArrivingFiles(connector=connector, spark=spark, name=name, footers=FooterColumns(connector, spark))


def _refuse_patterns(paths: Iterable[str]) -> None:
    """Raise UnreadFilesError for a path that Spark's streams take for a pattern."""
    if odd := min(filter(_OF_PATTERNS.search, paths), default=None):
        raise UnreadFilesError(
            f"{odd} has a character of patterns in its path, and Spark's streams read other files with it\n"
            "  allowed: paths without { } [ ] * ? and backslash\n  hint: give the file another name"
        )


def _number(offset: str | None) -> int:
    return -1 if offset is None else int(json.loads(offset)["logOffset"])
