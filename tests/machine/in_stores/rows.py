"""The sink of files of the product, with rows that need no Spark: `Rows` stands for a DataFrame.

What Spark does is repeated here: files are written as its ground writes them, and read whole. The rest is the product:
claim, check of folders, files to remove, decision, publication.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, cast
from unittest.mock import patch

from pyspark.sql import DataFrame

from graph_compiler.declaration.connectors import Connector, Json
from graph_compiler.declaration.operators import Sink
from graph_compiler.identifiers import OperatorId
from graph_compiler.spark_runtime.connectors import file_sink
from graph_compiler.spark_runtime.connectors.file_sink import FileSink
from graph_compiler.spark_runtime.connectors.sink import SinkContext
from graph_compiler.spark_runtime.publishing import bucket_target, hdfs_target, written_files
from graph_compiler.spark_runtime.publishing.publication import Publisher
from graph_compiler.spark_runtime.publishing.written_files import FileFormat, Lister, WrittenFile
from graph_compiler.spark_runtime.spark_internals.direct_write import DirectWrite, NamedFile
from graph_compiler.spark_runtime.spark_internals.executed_plan import WriteMetrics
from graph_compiler.staging.publications.listing import is_hidden
from tests.machine.in_stores.server import Ground, Server
from tests.machine.model import Row

MOST_ROWS_OF_A_FILE = 2


@dataclass(frozen=True)
class Rows:
    """Rows on their way to a store; an execution's executors reach it although its driver does not."""

    ground: Ground
    rows: tuple[Row, ...]
    dtypes: tuple[tuple[str, str], ...] = (("id", "bigint"), ("part", "string"))
    schema: str = ""

    @property
    def sparkSession(self) -> _Reader:  # noqa: N802  # pyspark's name
        return _Reader(self)

    def written(self, folder: str, partition_by: Sequence[str]) -> DirectWrite:
        """Write files."""
        files = []
        for number, (part, rows) in enumerate(self._files(partition_by)):
            self.ground.server.number += 1
            name = f"{part}part-{number:05}-{self.ground.server.number}-c000.json"
            content = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
            self.ground.write(folder, name, content)
            files.append(NamedFile(name, len(content)))
        size = sum(file.bytes for file in files)
        counted = WriteMetrics(rows=len(self.rows), files=len(files), bytes=size)
        return DirectWrite(files=tuple(files), counted=counted)

    def _files(self, partition_by: Sequence[str]) -> Iterator[tuple[str, Sequence[Row]]]:
        if partition_by:
            for part in dict.fromkeys(row[1] for row in self.rows):
                yield f"{partition_by[0]}={part}/", [row for row in self.rows if row[1] == part]
        else:
            for first in range(0, max(len(self.rows), 1), MOST_ROWS_OF_A_FILE):
                yield "", self.rows[first : first + MOST_ROWS_OF_A_FILE]


@dataclass(frozen=True)
class _Reader:
    """The part of Spark's reader that reads rows which were set aside."""

    rows: Rows

    @property
    def read(self) -> _Reader:
        return self

    @property
    def _jsc(self) -> _Reader:
        return self

    def hadoopConfiguration(self) -> dict[str, str]:  # noqa: N802  # Spark's name
        """Return nothing: no setting of a cluster leaves files out."""
        return {}

    def format(self, _: str) -> _Reader:
        return self

    def options(self, **_: str) -> _Reader:
        return self

    schema = format

    def load(self, keys: Sequence[str]) -> Rows:
        return replace(self.rows, rows=rows_in(self.rows.ground.server, keys))


def rows_in(server: Server, keys: Sequence[str]) -> tuple[Row, ...]:
    """Return the rows of these files."""
    lines = [line for key in keys for line in server.get(key).content.splitlines()]
    return tuple((row[0], row[1], row[2]) for row in map(json.loads, lines))


def seen_rows(server: Server, target: str) -> tuple[Row, ...]:
    """Return the rows that readers of a target see."""
    found = (key for key, _ in server.below(target))
    return rows_in(server, [key for key in found if not any(map(is_hidden, key[len(target) + 1 :].split("/")))])


class RowsSink(FileSink):
    """The sink of files, for `Rows`."""

    def check(self, rows: DataFrame) -> DataFrame:
        """Check only the folders of what stays."""
        old = self.ticket.old_files
        if old and self.sink.mode in file_sink._KEEPS_ROWS:
            self._check_folders(old)
        return rows

    def _merge(self, new: DataFrame) -> tuple[DataFrame, frozenset[str]]:
        held = frozenset(self.ticket.old_files)
        rows, target = cast("Rows", new), self.ticket.target
        read = rows_in(rows.ground.server, [f"{target}/{name}" for name in self.ticket.old_files])
        kept = [row for row in read if row[0] not in {row[0] for row in rows.rows}]
        return cast("DataFrame", replace(rows, rows=(*kept, *rows.rows))), held


def open_rows_sink(connector: Connector, operator_id: OperatorId, sink: Sink, context: SinkContext) -> RowsSink:
    """Claim the target, as the sink of files does."""
    assert isinstance(connector, Json)
    publisher = Publisher(ledger=context.ledger, execution_id=context.writer_id)
    ticket = publisher.settle(operator_id, connector.one_path, sink.mode)
    return RowsSink(
        connector=connector, sink=sink, spark=context.spark, publisher=publisher, ticket=ticket, context=context
    )


@dataclass
class _Watched:
    rows: Any
    check: Callable[[], None] = field(default=lambda: None)


def _write_directly(rows: Rows, folder: str, *, partition_by: Sequence[str] = (), **_: Any) -> DirectWrite:
    return rows.written(folder, partition_by)


def _write_files(rows: Rows, folder: str, format: FileFormat, lists: Lister) -> tuple[tuple[WrittenFile, ...], int]:
    written = rows.written(folder, format.partition_by).counted
    files = lists(folder)
    written_files._compare_sizes(folder, files, written)
    return files, written.rows


def _write_empty_file(rows: Rows, folder: str, _: FileFormat, lists: Lister) -> tuple[WrittenFile, ...]:
    replace(rows, rows=()).written(f"{folder}/empty", ())
    return lists(folder)


def _read_aside(rows: Rows, _: FileFormat, folder: str) -> Rows:
    return replace(rows, rows=seen_rows(rows.ground.server, folder))


def _watched(rows: Rows, *_: object) -> _Watched:
    return _Watched(rows)


def _without_rows(rows: Rows, _: FileFormat) -> Rows:
    return replace(rows, rows=())


@contextmanager
def without_spark() -> Iterator[None]:
    """Let the product write `Rows`."""
    with (
        patch.object(bucket_target, "write_directly", _write_directly),
        patch.object(bucket_target, "watch_folders", _watched),
        patch.object(bucket_target, "without_rows", _without_rows),
        patch.object(hdfs_target, "write_files", _write_files),
        patch.object(hdfs_target, "write_empty_file", _write_empty_file),
        patch.object(hdfs_target, "read_aside", _read_aside),
        patch.object(file_sink, "watch_values", _watched),
    ):
        yield
