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
import pyarrow.compute  # the first cast would import it, when no file can be opened any more
from pyarrow import parquet

from graph_compiler.deployment.documents.wire import to_wire
from graph_compiler.errors import PartitionNotFoundError
from graph_compiler.explain.documents.view_answers import Cell, CutCell
from graph_compiler.identifiers import listing

UNREADABLE = (OSError, MemoryError, RecursionError, ValueError, LookupError, TypeError, pa.ArrowException)
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
            (f"{leaf.path_in_schema}.", leaf) for leaf in (group.column(number) for number in range(group.num_columns))
        ]
        found, left = [], _MOST_READ
        for field in fields:
            inside = f"{field['name']}."
            cost = sum(_cost(leaf, group.num_rows) for path, leaf in leaves if path.startswith(inside))
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
                yield tuple(cell(column[at], field["type"]) for column, field in zip(columns, fields, strict=True))


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


_MOST = 500
"""Maximum characters of a cell."""
_MOST_BYTES = 4 * _MOST
"""Bytes that always hold that many characters."""


def cell(value: Any, kind: Any) -> Cell:
    """Return the cell of an Arrow scalar; the type is Spark's schema JSON. It reads no more than it shows."""
    if not value.is_valid:
        return None
    text = _beginning(_pieces(value, kind, is_inner=False))
    is_bytes = _is_binary(value.type) or _is_string(value.type)
    size = value.as_buffer().size if is_bytes else None
    if len(text) <= _MOST:
        return text
    return CutCell(text=text[:_MOST], bytes=size)


def _beginning(pieces: Iterator[str]) -> str:
    """Join pieces until there is more than a cell can show."""
    found, length = [], 0
    for piece in pieces:
        found.append(piece)
        length += len(piece)
        if length > _MOST:
            break
    return "".join(found)


def _pieces(value: Any, kind: Any, *, is_inner: bool) -> Iterator[str]:
    """Yield a value's text in pieces; nested values and map keys are written as in JSON."""
    if not value.is_valid:
        yield "null"
    elif pa.types.is_map(value.type):
        yield from _map(value, kind)
    elif pa.types.is_struct(value.type):
        yield from _struct(value, kind)
    elif _is_list(value.type):
        element = _part(kind, "elementType")
        inner = (_pieces(item, element, is_inner=True) for item in value.values)
        yield from _listed("[", inner, "]")
    else:
        text, is_text = _plain(value, kind)
        yield json.dumps(text, ensure_ascii=False) if is_inner and is_text else text


def _map(value: Any, kind: Any) -> Iterator[str]:
    key, item = _part(kind, "keyType"), _part(kind, "valueType")

    def pair(entry: Any) -> Iterator[str]:
        yield from _pieces(entry["key"], key, is_inner=True)
        yield ": "
        yield from _pieces(entry["value"], item, is_inner=True)

    return _listed("{", (pair(entry) for entry in value.values), "}")


def _struct(value: Any, kind: Any) -> Iterator[str]:
    kinds = {field["name"]: field["type"] for field in _part(kind, "fields") or ()}

    def pair(name: str, item: Any) -> Iterator[str]:
        yield f"{json.dumps(name, ensure_ascii=False)}: "
        yield from _pieces(item, kinds.get(name), is_inner=True)

    return _listed("{", (pair(name, item) for name, item in value.items()), "}")


def _listed(begin: str, items: Iterator[Iterator[str]], end: str) -> Iterator[str]:
    yield begin
    for number, item in enumerate(items):
        if number:
            yield ", "
        yield from item
    yield end


def _plain(value: Any, kind: Any) -> tuple[str, bool]:
    """Return the text of a value without parts, and whether it is text (not a number or Boolean)."""
    type = value.type
    if _is_string(type):
        content = value.as_buffer()[: _MOST_BYTES + 4].to_pybytes()
        return content.decode(errors="replace")[: _MOST + 1], True
    if _is_binary(type):
        return f"0x{value.as_buffer()[:_MOST].to_pybytes().hex()}", True
    if pa.types.is_timestamp(type):
        return _instant(value, is_utc=kind == "timestamp" or type.tz is not None), True
    if pa.types.is_decimal(type):
        return format(value.as_py(), "f"), False
    if pa.types.is_floating(type):
        return _float(_text(value)), False
    return _simple(value, kind)


def _simple(value: Any, kind: Any) -> tuple[str, bool]:
    """Return Arrow's text of a value; intervals in Parquet are whole numbers."""
    text = _text(value)
    if isinstance(kind, str) and kind.startswith("interval"):
        is_months = "year" in kind or "month" in kind
        return f"{text} {'months' if is_months else 'µs'}", True
    return text, not (pa.types.is_integer(value.type) or pa.types.is_boolean(value.type))


def _instant(value: Any, *, is_utc: bool) -> str:
    """Return a time as Spark writes it: Arrow supports years after 9999, Python does not. Stored values are in UTC."""
    text = _text(value.cast(pa.timestamp(value.type.unit)))
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return f"{text}Z" if is_utc else text


def _float(text: str) -> str:
    return {"nan": "NaN", "-nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(text, text)


def _text(value: Any) -> str:
    return str(value.cast(pa.string()).as_py())


def _part(kind: Any, key: str) -> Any:
    """Return a part of a type; a user-defined type is stored as its SQL type."""
    if isinstance(kind, dict) and kind.get("type") == "udt":
        kind = kind.get("sqlType")
    return kind.get(key) if isinstance(kind, dict) else None


def _is_string(type: Any) -> bool:
    return bool(pa.types.is_string(type) or pa.types.is_large_string(type))


def _is_binary(type: Any) -> bool:
    return bool(pa.types.is_binary(type) or pa.types.is_large_binary(type) or pa.types.is_fixed_size_binary(type))


def _is_list(type: Any) -> bool:
    return bool(pa.types.is_list(type) or pa.types.is_large_list(type))
