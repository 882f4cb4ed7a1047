"""Parquet files of a few kilobytes whose pages take more than a gigabyte of memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

_I32, _I64, _BINARY, _LIST, _STRUCT = 5, 6, 8, 9, 12
_BYTE_ARRAY, _REQUIRED, _ZSTD, _PLAIN, _RLE = 6, 0, 6, 0, 3
_PIECE = bytes(1 << 20)
Value = int | bytes | Sequence[object]
Struct = Sequence[tuple[int, int, object]]
"""Thrift's fields: id, type, value; a list is a pair of the type of its elements and these."""


def expanding_page(path: Path, *, size: int) -> None:
    """Write one page of zeros, empty strings to Parquet, that takes `size` bytes; the footer declares 100 bytes."""
    page = _zeros(size)
    header = (
        (1, _I32, 0),
        (2, _I32, size),
        (3, _I32, len(page)),
        (5, _STRUCT, ((1, _I32, 100), (2, _I32, _PLAIN), (3, _I32, _RLE), (4, _I32, _RLE))),
    )
    chunk = _written(header) + page
    leaf = (
        (1, _I32, _BYTE_ARRAY),
        (2, _LIST, (_I32, (_PLAIN, _RLE))),
        (3, _LIST, (_BINARY, (b"s",))),
        (4, _I32, _ZSTD),
        (5, _I64, 100),
        (6, _I64, 100),  # what a lying footer says of its size
        (7, _I64, len(chunk)),
        (9, _I64, 4),
    )
    group = ((1, _LIST, (_STRUCT, (((2, _I64, 4), (3, _STRUCT, leaf)),))), (2, _I64, 100), (3, _I64, 100))
    columns = (
        ((4, _BINARY, b"schema"), (5, _I32, 1)),
        ((1, _I32, _BYTE_ARRAY), (3, _I32, _REQUIRED), (4, _BINARY, b"s"), (6, _I32, 0)),
    )
    footer = _written(((1, _I32, 1), (2, _LIST, (_STRUCT, columns)), (3, _I64, 100), (4, _LIST, (_STRUCT, (group,)))))
    path.write_bytes(b"PAR1" + chunk + footer + len(footer).to_bytes(4, "little") + b"PAR1")


def repeated_value(path: Path, *, size: int) -> None:
    """Write 10,000 rows with one value of so many bytes: a few bytes of the column are a page of rows."""
    value = pa.DictionaryArray.from_arrays(pa.array([0] * 10_000, pa.int32()), pa.array([bytes(size)], pa.binary()))
    parquet.write_table(
        pa.table({"s": value}),
        path,
        compression="zstd",
        dictionary_pagesize_limit=2 * size,
        write_statistics=False,
        store_schema=False,
    )


def _zeros(size: int) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        for _ in range(size // len(_PIECE)):
            stream.write(_PIECE)
    return bytes(sink.getvalue().to_pybytes())


def _written(fields: Struct) -> bytes:
    """Write a struct in Thrift's compact protocol."""
    found, last = b"", 0
    for number, kind, value in fields:
        assert 0 < number - last < 16
        found += bytes([(number - last) << 4 | kind]) + _value(kind, value)
        last = number
    return found + b"\0"


def _value(kind: int, value: object) -> bytes:
    match value:
        case int():
            return _varint(value << 1 if value >= 0 else (-value << 1) - 1)
        case bytes():
            return _varint(len(value)) + value
        case (int() as element, tuple() as items) if kind == _LIST:
            assert len(items) < 15
            return bytes([len(items) << 4 | element]) + b"".join(_value(element, item) for item in items)
        case tuple():
            return _written(value)
        case _:
            raise AssertionError(value)


def _varint(number: int) -> bytes:
    found = b""
    while number >= 0x80:
        found += bytes([number & 0x7F | 0x80])
        number >>= 7
    return found + bytes([number])
