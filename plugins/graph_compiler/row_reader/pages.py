"""The first rows of Parquet files, from as few files, row groups and pages as possible.

A page is read when its rows are needed, not a whole column of a row group, as with `pre_buffer`, which is on by
default. The cost of rows is estimated beforehand from the averages of their row group.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, BinaryIO

import pyarrow as pa
from pyarrow import parquet

from graph_compiler.deployment.documents.wire import to_wire
from graph_compiler.errors import PartitionNotFoundError
from graph_compiler.explain.documents.view_answers import Cell
from graph_compiler.identifiers import listing
from graph_compiler.row_reader.cells import cell

UNREADABLE = (
    OSError,
    MemoryError,
    RecursionError,
    ValueError,
    LookupError,
    TypeError,
    pa.ArrowException,
)
"""The errors of files that are damaged, encrypted, have different columns, or are not readable for this user."""
_MOST_ANSWERED = 1_000_000
"""Maximum bytes of the rows in an answer; at least one row is always returned."""
_MOST_READ = 64_000_000
"""Maximum estimated bytes of the first pages of all columns."""
_ROWS_IN_A_PAGE = 100
"""Minimum rows of a page: Parquet's writer does not check its size earlier."""
_BYTES_OF_A_VALUE = 8
_MOST_FOOTER = 8_000_000
"""Maximum bytes of a file's footer, enough for about 50,000 columns in a row group."""
_MOST_LISTED = 100_000
"""Maximum number of columns, row groups or names in one list of the footer."""
_BATCH = 16
"""Maximum number of rows in memory at once."""
_BUFFER = 64 * 1024
Field = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _RowGroup:
    """A row group of an open file."""

    file: Any
    index: int

    def fitting(self, fields: Sequence[Field]) -> list[Field]:
        """Return the columns, in their order, whose first pages may be read together."""
        group = self.file.metadata.row_group(self.index)
        leaves = [
            (f"{leaf.path_in_schema}.", leaf)
            for leaf in (group.column(number) for number in range(group.num_columns))
        ]
        found, left = [], _MOST_READ
        for field in fields:
            inside = f"{field['name']}."
            cost = sum(
                _cost(leaf, group.num_rows) for path, leaf in leaves if path.startswith(inside)
            )
            if cost <= left:
                found.append(field)
                left -= cost
        return found

    def rows(self, fields: Sequence[Field]) -> Iterator[tuple[Cell, ...]]:
        """Yield the rows; raises PartitionNotFoundError if the file does not have the columns of its manifest."""
        names = [field["name"] for field in fields]
        for batch in self.file.iter_batches(
            batch_size=_BATCH, row_groups=[self.index], columns=names, use_threads=False
        ):
            if missing := [name for name in names if batch.schema.get_field_index(name) < 0]:
                raise PartitionNotFoundError(f"a file of the result has no {listing(missing)}")
            columns = [batch.column(name) for name in names]
            for at in range(batch.num_rows):
                yield tuple(
                    cell(column[at], field["type"])
                    for column, field in zip(columns, fields, strict=True)
                )


def read_rows(
    files: Iterator[BinaryIO], fields: Sequence[Field], most: int
) -> tuple[tuple[int, ...], tuple[tuple[Cell, ...], ...]]:
    """Return the indexes of the readable fields, and rows until there are enough or the next row would be too large.

    Raises PartitionNotFoundError, and the errors in UNREADABLE.
    """
    groups = _row_groups(files)
    first = next(groups, None)
    if first is None:
        return tuple(range(len(fields))), ()
    if not (shown := first.fitting(fields)):
        return (), ()
    rows: list[tuple[Cell, ...]] = []
    left = _MOST_ANSWERED
    for row in islice(_rows(chain((first,), groups), shown), most):
        left -= len(json.dumps(to_wire(row), ensure_ascii=False).encode())
        if rows and left < 0:
            break
        rows.append(row)
    return tuple(number for number, field in enumerate(fields) if field in shown), tuple(rows)


def _row_groups(files: Iterator[BinaryIO]) -> Iterator[_RowGroup]:
    for opened in files:
        with opened:
            _check_footer(opened)
            with parquet.ParquetFile(
                opened,
                pre_buffer=False,
                buffer_size=_BUFFER,
                coerce_int96_timestamp_unit="us",
                page_checksum_verification=True,
                thrift_string_size_limit=_MOST_FOOTER,
                thrift_container_size_limit=_MOST_LISTED,
            ) as file:
                for index in range(file.num_row_groups):
                    yield _RowGroup(file=file, index=index)


def _check_footer(file: BinaryIO) -> None:
    """Raise PartitionNotFoundError for a footer that would take too much memory; the file ends with its length."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 8))
    end = file.read(8)
    length = int.from_bytes(end[:4], "little")
    if end[4:] in (b"PAR1", b"PARE") and length > _MOST_FOOTER:
        raise PartitionNotFoundError(f"a file of the result has a footer of {length:,} bytes")
    file.seek(0)


def _rows(groups: Iterator[_RowGroup], fields: Sequence[Field]) -> Iterator[tuple[Cell, ...]]:
    for group in groups:
        if group.fitting(fields) != fields:
            return
        yield from group.rows(fields)


def _cost(leaf: Any, rows: int) -> int:
    """Return the estimated bytes of a column's first page, and of its values if they are encoded in fewer bytes."""
    size = max(leaf.total_uncompressed_size, _BYTES_OF_A_VALUE * leaf.num_values)
    return int(size * min(_ROWS_IN_A_PAGE, rows) / max(1, rows))
