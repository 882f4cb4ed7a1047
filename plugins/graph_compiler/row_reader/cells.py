"""Cells as the view shows them: text (truncated if long) and null. The types are Spark's, the values Arrow's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute  # the first cast would import it, when no file can be opened any more

from graph_compiler.explain.documents.view_answers import Cell, CutCell

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
    return bool(
        pa.types.is_binary(type)
        or pa.types.is_large_binary(type)
        or pa.types.is_fixed_size_binary(type)
    )


def _is_list(type: Any) -> bool:
    return bool(pa.types.is_list(type) or pa.types.is_large_list(type))
