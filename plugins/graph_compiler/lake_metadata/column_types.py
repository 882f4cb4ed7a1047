"""Columns of tables as DDL, compared without Spark: as the driver does (`spark_runtime/columns/schema_change.py`).

    expected  carrier STRING, delay INT        found  carrier STRING, delay BIGINT, gate STRING
    →  delay was widened, gate was added

Fields of structs, also in arrays and maps, are found by name; names are compared as Spark does, ignoring case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from graph_compiler.declaration.connectors.connector import ChangeKind
from graph_compiler.declaration.operators.known_columns import Columns
from graph_compiler.declaration.sql_text import Token, name_at, tokens_of
from graph_compiler.declaration.sql_types.spark_types import type_of_text
from graph_compiler.errors import GraphCompilerError
from graph_compiler.identifiers import quoted

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")
_WHOLE = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_DIGITS = dict(zip(_WHOLE, (3, 5, 10, 19), strict=True))
_AFTER_TYPE = frozenset({"COMMENT", "DEFAULT", "GENERATED"})
_END = Token("", is_quoted=False, start=0, end=0)


@dataclass(frozen=True, slots=True)
class StructOf:
    """A struct, or all columns of a table."""

    fields: tuple[TypedColumn, ...]


@dataclass(frozen=True, slots=True)
class ArrayOf:
    """An array of elements of one type."""

    element: ColumnType


@dataclass(frozen=True, slots=True)
class MapOf:
    """A map from keys to values."""

    key: ColumnType
    value: ColumnType


ColumnType: TypeAlias = "str | StructOf | ArrayOf | MapOf | None"
"""A type without fields as DDL in one form (`DECIMAL(9,2)`); None if it is not known, and not compared."""


@dataclass(frozen=True, slots=True)
class TypedColumn:
    """A column, or a field; `is_required` if it is NOT NULL."""

    name: str
    type: ColumnType
    is_required: bool = False


class UnreadDdlError(GraphCompilerError):
    """A text is not DDL as it is understood here; Spark may understand it."""


def parse_columns(ddl: str) -> StructOf:
    """Return the columns of a DDL; raises UnreadDdlError."""
    parser = _Parser(ddl)
    fields = parser.fields()
    if parser.token is not _END:
        raise UnreadDdlError(ddl)
    return StructOf(fields)


def known_struct(known: Columns) -> StructOf:
    """Return columns that a declaration shows; a type that is not understood is not known."""
    return StructOf(tuple(TypedColumn(each.name, _type_or_none(each.type)) for each in known))


def _type_or_none(text: str | None) -> ColumnType:
    try:
        return None if text is None else parse_columns(f"it {text}").fields[0].type
    except UnreadDdlError:
        return None


def column_ddl(name: str, type_ddl: str, *, is_required: bool, between: str = " ") -> str:
    """Return a column, or a field with `between=": "`, as DDL."""
    plain = name if _PLAIN.fullmatch(name) else quoted(name)
    return f"{plain}{between}{type_ddl}{' NOT NULL' if is_required else ''}"


def type_ddl(type: ColumnType) -> str:
    """Return a type as DDL: `ARRAY<INT>`."""
    match type:
        case StructOf(fields):
            inner = (column_ddl(f.name, type_ddl(f.type), is_required=f.is_required, between=": ") for f in fields)
            return f"STRUCT<{', '.join(inner)}>"
        case ArrayOf(element):
            return f"ARRAY<{type_ddl(element)}>"
        case MapOf(key, value):
            return f"MAP<{type_ddl(key)}, {type_ddl(value)}>"
    return type or "a type that is not known"


class _Parser:
    """The grammar of Spark's column lists: names, types, NOT NULL; comments of columns are left out."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._tokens = iter(tokens_of(text))
        self.token = next(self._tokens, _END)

    def fields(self) -> tuple[TypedColumn, ...]:
        found = [self._field()]
        while self._skip(","):
            found.append(self._field())
        return tuple(found)

    def _field(self) -> TypedColumn:
        token = self._next()
        if not (token.text.isidentifier() or token.text.startswith("`")):
            raise UnreadDdlError(self.text)
        self._skip(":")
        kind = self._type()
        is_required = self._skip("NOT")
        if is_required:
            self._expect("NULL")
        if self.token.text in _AFTER_TYPE:
            self._to_next_field()
        return TypedColumn(name_at(self.text, token), kind, is_required)

    def _type(self) -> ColumnType:
        word = self._next()
        if not word.text.isidentifier():
            raise UnreadDdlError(self.text)
        if self.token.text == "<":
            self._expect("<")
            kind = self._nested(word.text)
            self._expect(">")
            return kind
        end = word.end
        if self._skip("("):
            while self.token.text not in (")", ""):
                self._next()
            end = self.token.end
            self._expect(")")
        return type_of_text(self.text[word.start : end])

    def _nested(self, word: str) -> ColumnType:
        match word:
            case "STRUCT":
                return StructOf(() if self.token.text == ">" else self.fields())
            case "ARRAY":
                return ArrayOf(self._type())
            case "MAP":
                key = self._type()
                self._expect(",")
                return MapOf(key, self._type())
        raise UnreadDdlError(self.text)

    def _to_next_field(self) -> None:
        """Skip what follows a type: a comment is one token, other texts may have commas in brackets."""
        if not (self._skip("COMMENT") and self._next().is_quoted):
            raise UnreadDdlError(self.text)

    def _next(self) -> Token:
        token, self.token = self.token, next(self._tokens, _END)
        return token

    def _skip(self, text: str) -> bool:
        is_there = self.token.text == text and not self.token.is_quoted
        if is_there:
            self._next()
        return is_there

    def _expect(self, text: str) -> None:
        if not self._skip(text):
            raise UnreadDdlError(self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnDifference:
    """A column that differs, by its dotted path; `expected` or `found` is None if there is no such column."""

    kind: ChangeKind
    column: str
    expected: TypedColumn | None
    found: TypedColumn | None

    def __str__(self) -> str:
        """Return the difference in one line, as the driver does."""
        found, expected = _shown(self.found), _shown(self.expected)
        required = " NOT NULL" if self.kind is ChangeKind.NULLABLE else ""
        return f"column '{self.column}' {self.kind}: found {found}; expected {expected}{required}"


def _shown(column: TypedColumn | None) -> str:
    return "no such column" if column is None else type_ddl(column.type)


def find_differences(expected: StructOf, found: StructOf, path: str = "") -> Iterator[ColumnDifference]:
    """Yield every column and field that differs: the expected ones in their order, then the additional ones."""
    there = {each.name.lower(): each for each in found.fields}
    for each in expected.fields:
        other = there.pop(each.name.lower(), None)
        if other is None:
            kind = ChangeKind.DROPPED
            yield ColumnDifference(kind=kind, column=f"{path}{each.name}", expected=each, found=None)
        else:
            yield from _of_column(f"{path}{each.name}", each, other)
    for each in there.values():
        yield ColumnDifference(kind=ChangeKind.ADDED, column=f"{path}{each.name}", expected=None, found=each)


def _of_column(path: str, expected: TypedColumn, found: TypedColumn) -> Iterator[ColumnDifference]:
    match expected.type, found.type:
        case StructOf() as one, StructOf() as other:
            yield from find_differences(one, other, f"{path}.")
        case ArrayOf(one_element), ArrayOf(other_element):
            yield from _of_inner(f"{path}.element", one_element, other_element)
        case MapOf(one_key, one_value), MapOf(other_key, other_value):
            yield from _of_inner(f"{path}.key", one_key, other_key)
            yield from _of_inner(f"{path}.value", one_value, other_value)
        case one_type, other_type:
            kind = _kind_of_types(one_type, other_type)
            if kind is not None:
                yield ColumnDifference(kind=kind, column=path, expected=expected, found=found)
    if expected.is_required and not found.is_required:
        yield ColumnDifference(kind=ChangeKind.NULLABLE, column=path, expected=expected, found=found)


def _of_inner(path: str, expected: ColumnType, found: ColumnType) -> Iterator[ColumnDifference]:
    """Compare elements, keys or values: whether they may be NULL is not compared, since DDL cannot declare it."""
    yield from _of_column(path, TypedColumn("", expected), TypedColumn("", found))


def _kind_of_types(expected: ColumnType, found: ColumnType) -> ChangeKind | None:
    if expected == found or expected is None or found is None:
        return None
    if is_wider_ddl(found, expected):
        return ChangeKind.WIDENED
    return ChangeKind.NARROWED if is_wider_ddl(expected, found) else ChangeKind.RETYPED


def is_wider_ddl(wide: ColumnType, narrow: ColumnType) -> bool:
    """Whether `wide` holds every value of `narrow` and is a different type: BIGINT of INT, DOUBLE of FLOAT and INT."""
    if not isinstance(wide, str) or not isinstance(narrow, str):
        return False
    decimal, small = _DECIMAL.fullmatch(wide), _DECIMAL.fullmatch(narrow)
    if narrow in _WHOLE:
        if decimal is not None:
            return int(decimal[1]) - int(decimal[2]) >= _DIGITS[narrow]
        is_wider_whole = wide in _WHOLE[_WHOLE.index(narrow) + 1 :]
        return is_wider_whole or (wide == "DOUBLE" and narrow != "BIGINT")
    if decimal is not None and small is not None:
        whole, other_whole = (int(each[1]) - int(each[2]) for each in (decimal, small))
        return wide != narrow and whole >= other_whole and int(decimal[2]) >= int(small[2])
    return (narrow, wide) in (("FLOAT", "DOUBLE"), ("DATE", "TIMESTAMP_NTZ"))


def as_nullable_ddl(columns: StructOf) -> StructOf:
    """Return the same columns, in which everything at every depth may be NULL."""
    return StructOf(tuple(TypedColumn(each.name, _nullable(each.type)) for each in columns.fields))


def _nullable(type: ColumnType) -> ColumnType:
    match type:
        case StructOf():
            return as_nullable_ddl(type)
        case ArrayOf(element):
            return ArrayOf(_nullable(element))
        case MapOf(key, value):
            return MapOf(_nullable(key), _nullable(value))
    return type


def with_columns_added(columns: StructOf, added: Sequence[TypedColumn]) -> StructOf:
    """Return columns, and those of `added` whose names they do not have."""
    names = {each.name.lower() for each in columns.fields}
    return StructOf((*columns.fields, *(each for each in added if each.name.lower() not in names)))
