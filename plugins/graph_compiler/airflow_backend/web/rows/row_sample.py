"""The first rows of a staged result, out of its Parquet files: as few files, row groups and pages as that takes.

A page is read when its rows are wanted, not a whole column of a row group: `pre_buffer`, which is on by default, would
read that. What a row group holds on average says beforehand what its rows would cost.
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

from graph_compiler.airflow_backend.web.rows.row_cells import cell
from graph_compiler.airflow_backend.web.rows.staged_files import StagedFiles
from graph_compiler.airflow_backend.web.rows.staged_result import fields_of, view_column
from graph_compiler.errors import PartitionNotFoundError
from graph_compiler.explain.documents.plain_json import plain_json
from graph_compiler.explain.documents.view_answers import Cell, RowSample
from graph_compiler.identifiers import counted, listing

UNREADABLE = (
    OSError,
    MemoryError,
    RecursionError,
    ValueError,
    LookupError,
    TypeError,
    pa.ArrowException,
)
"""What is raised for files that are damaged, encrypted, of other columns, or not for this user's eyes."""
_MOST_COLUMNS = 200
_MOST_ANSWERED = 1_000_000
"""Bytes of the rows in an answer; one row is always given."""
_MOST_READ = 64_000_000
"""Bytes of all columns' first pages, estimated."""
_ROWS_IN_A_PAGE = 100
"""At least: Parquet's writer does not look at a page's size before."""
_BYTES_OF_A_VALUE = 8
_MOST_FOOTER = 8_000_000
"""Bytes of what a file says of itself: some 50,000 columns of a row group."""
_MOST_LISTED = 100_000
"""Columns, row groups or names in one list of it."""
_BATCH = 16
"""Rows that are in memory at once."""
_BUFFER = 64 * 1024
Field = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _RowGroup:
    """A row group of an open file."""

    file: Any
    index: int

    def fitting(self, fields: Sequence[Field]) -> list[Field]:
        """Give the columns, in their order, whose first pages may be read together."""
        group = self.file.metadata.row_group(self.index)
        leaves = [group.column(number) for number in range(group.num_columns)]
        found, left = [], _MOST_READ
        for field in fields:
            cost = sum(_cost(leaf, group.num_rows) for leaf in leaves if _is_of(leaf, field))
            if cost <= left:
                found.append(field)
                left -= cost
        return found

    def rows(self, fields: Sequence[Field]) -> Iterator[tuple[Cell, ...]]:
        """Read row by row; raises PartitionNotFoundError for a file that has not the columns of its manifest."""
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


def read_sample(found: StagedFiles, most: int) -> RowSample:
    """Read at most so many rows; raises PartitionNotFoundError, and what is UNREADABLE."""
    manifest = found.manifest
    fields = fields_of(manifest)
    shown, rows = _sample(found, fields[:_MOST_COLUMNS], most)
    return RowSample(
        epoch=manifest.epoch,
        rows_in_result=manifest.rows,
        columns=tuple(view_column(field) for field in shown),
        rows=tuple(rows),
        notes=tuple(_notes(fields, shown, rows, min(most, manifest.rows))),
    )


def _sample(
    found: StagedFiles, fields: list[Field], most: int
) -> tuple[list[Field], list[tuple[Cell, ...]]]:
    """Give the columns that can be read, and rows until there are enough, or the next would be too much."""
    groups = _row_groups(found.opened())
    first = next(groups, None)
    if first is None or not (shown := first.fitting(fields)):
        return fields if first is None else [], []
    rows: list[tuple[Cell, ...]] = []
    left = _MOST_ANSWERED
    for row in islice(_rows(chain((first,), groups), shown), most):
        left -= len(json.dumps(plain_json(row), ensure_ascii=False).encode())
        if rows and left < 0:
            break
        rows.append(row)
    return shown, rows


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
    """Raise PartitionNotFoundError for a footer that would take much memory to read: its length stands at the end."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 8))
    end = file.read(8)
    length = int.from_bytes(end[:4], "little")
    if end[4:] in (b"PAR1", b"PARE") and length > _MOST_FOOTER:
        raise PartitionNotFoundError(f"a file of the result has a footer of {length:,} bytes")
    file.seek(0)


def _rows(groups: Iterator[_RowGroup], fields: list[Field]) -> Iterator[tuple[Cell, ...]]:
    for group in groups:
        if group.fitting(fields) != fields:
            return
        yield from group.rows(fields)


def _is_of(leaf: Any, field: Field) -> bool:
    return f"{leaf.path_in_schema}.".startswith(f"{field['name']}.")


def _cost(leaf: Any, rows: int) -> int:
    """Estimate the bytes of a column's first page, and of its values where few bytes stand for many."""
    size = max(leaf.total_uncompressed_size, _BYTES_OF_A_VALUE * leaf.num_values)
    return int(size * min(_ROWS_IN_A_PAGE, rows) / max(1, rows))


def _notes(
    fields: Sequence[Field], shown: Sequence[Field], rows: Sequence[object], wanted: int
) -> Iterator[str]:
    names = [field["name"] for field in fields[:_MOST_COLUMNS] if field not in shown]
    if names:
        yield f"Too large to be read here: {listing(names)}."
    if len(fields) > _MOST_COLUMNS:
        yield f"The first {_MOST_COLUMNS} of {len(fields)} columns."
    if shown and len(rows) < wanted:
        yield f"{counted(len(rows), 'row')}, not {wanted}: what follows is too large to be shown here."
