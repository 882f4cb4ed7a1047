"""Numbers of JSON whose text is kept: 1.50 in a STRING column, and each digit of a DECIMAL.

`from_json` reads a number into text as a double: 1.123456789012345678 becomes 1.1234567890123457, and 1e400 "Infinity".
If a record may have such a number, it is parsed again with its numbers in quotes, and the texts are those of that.
Each begins with a mark, by which it is known from a string: {"a": [1.50]} in a STRING column keeps its number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pyspark.sql import DataFrame
from pyspark.sql.functions import expr, from_json, when
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    MapType,
    StringType,
    StructType,
)

from graph_compiler.identifiers import quoted
from graph_compiler.spark_runtime.columns.strict_values import literal

_NEXT_NUMBER = (
    r"""(?s)\G((?:[^"'\d+\-A-Za-z_$]++|"(?:[^"\\]++|\\.)*+"|'(?:[^'\\]++|\\.)*+'"""
    r"|(?!NaN|Infinity|INF)[A-Za-z_$][\w$]*+)*+)([+-]?(?:NaN|Infinity|INF|\d[\d.eE+-]*+)(?!\s*:))"
)
"""What is before the next number outside strings, and the number."""
_MANY_DIGITS = r"[0-9.]{17}|[eE]-?\d{3}"
"""A number that may be no double."""
_DOUBLE = r'-?\d+\.\d+(?:E-?\d+)?|"(?:NaN|-?Infinity)"'
_WRITTEN = rf"(?s)\A(?:{_DOUBLE}|0)\z|\A[\[{{].*(?:{_DOUBLE}|[\[:,]0[,}}\]])"
"""Text that may have been written from a double or from -0, or an object or a list that may have one."""
_MARK = "\ue000"
"""A letter that no writing system uses; before a number in quotes."""
_NO_WHOLE = r"[:,\[]\s*(?:[+-]?\d+[.eE]|[+-]?[NI]|-0)"
"""A number, of those in a list or an object, whose text is lost."""
_TEXTS: set[type[DataType]] = {StringType, DecimalType}
"""Types of values that may need all digits of a number."""
_IN_JSON = rf'"{_MARK}([^"]*)"'


_TOO_LARGE = r"[eE][+]?\d{2}|\d{39}"
"""A number that may be too large for a FLOAT, or a DOUBLE."""


def overflows_in_list(kind: DataType, text: str, record: str) -> str | None:
    """Return a condition: whether a number in a list or map may have become infinite; None if it would be noticed."""
    if not isinstance(kind, ArrayType | MapType) or not _leaves(kind) & {FloatType, DoubleType}:
        return None
    return f"{record} RLIKE {literal(_TOO_LARGE)} AND contains(to_json({text}), '\"Infinity\"')"


_END_OF_LIST = r"\]\s*\z"
_EMPTY_LIST = r"\A\s*\[\s*\]\s*\z"


def items_of_list(text: str, options: str) -> str:
    """Return an expression for the texts of the values in a list; NULL if the text is not exactly one list.

    The parser stops at the end of the list, whatever follows. So one more value is written before the last bracket.
    """
    marked = f"regexp_replace({_in_quotes(text)}, {literal(_END_OF_LIST)}, ', \"{_MARK}\"]')"
    items = f"from_json({marked}, 'ARRAY<STRING>'{options})"
    exact = f"transform(slice(items, 1, size(items) - 1), item -> {_without_marks(StringType(), 'item', 0)})"
    whole = f"CASE WHEN get(items, size(items) - 1) = '{_MARK}' THEN {exact} END"
    return (
        f"CASE WHEN {text} RLIKE {literal(_EMPTY_LIST)} THEN array() "
        f"ELSE transform(array({items}), items -> {whole})[0] END"
    )


def _in_quotes(record: str) -> str:
    """Return an expression for a record's text in which each number is a string that begins with the mark."""
    return f"regexp_replace({record}, {literal(_NEXT_NUMBER)}, '$1\"{_MARK}$2\"')"


def with_exact_numbers(
    parsed: DataFrame,
    fields: str,
    columns: StructType,
    options: Mapping[str, str],
    *,
    record: str,
) -> DataFrame:
    """Return the records, the texts in whose struct `fields` are as the file has them."""
    schema: StructType = parsed.schema[fields].dataType  # type: ignore[assignment]
    needs = " OR ".join(dict.fromkeys(_needs(columns, fields, record)))
    if not needs:
        return parsed
    exact = f"{fields}_exact"
    again = when(expr(needs), from_json(expr(_in_quotes(record)), schema, dict(options)))
    texts = _fields(columns, schema, fields, exact, 0)
    texts += [
        f"{literal(name)}, {fields}.{quoted(name)}"
        for name in schema.names
        if name not in columns.names
    ]
    chosen = f"CASE WHEN {exact} IS NULL OR {fields} IS NULL THEN {fields} ELSE named_struct({', '.join(texts)}) END"
    return parsed.withColumn(exact, again).withColumn(fields, expr(chosen)).drop(exact)


def _fields(
    columns: StructType, as_parsed: StructType, first: str, second: str, depth: int
) -> list[str]:
    """Return the arguments of `named_struct` for the fields of two structs."""
    found = []
    for field, name in ((field, quoted(field.name)) for field in columns):
        kind = as_parsed[field.name].dataType
        text = _text(field.dataType, kind, f"{first}.{name}", f"{second}.{name}", depth)
        found.append(f"{literal(field.name)}, {text}")
    return found


def _text(kind: DataType, as_parsed: DataType, first: str, second: str, depth: int) -> str:
    """Return an expression for a value of both: its text in `second` if `first` has lost it."""
    if isinstance(kind, StructType) and isinstance(as_parsed, StructType):
        inner = ", ".join(_fields(kind, as_parsed, first, second, depth))
        return f"CASE WHEN {second} IS NOT NULL THEN named_struct({inner}) ELSE {first} END"
    if isinstance(kind, ArrayType | MapType) and _has_only_texts(kind):
        return _without_marks(kind, second, depth)
    one, other = f"one{depth}", f"other{depth}"
    if isinstance(kind, ArrayType) and isinstance(as_parsed, ArrayType) and _leaves(kind) & _TEXTS:
        inner = _text(kind.elementType, as_parsed.elementType, one, other, depth + 1)
        return f"coalesce(zip_with({first}, {second}, ({one}, {other}) -> {inner}), {first})"
    text = _without_marks(kind, second, depth)
    if isinstance(kind, FloatType | DoubleType) and as_parsed == StringType():
        return f"CASE WHEN startswith({first}, '\"') THEN {text} ELSE {first} END"
    if isinstance(kind, StringType):
        return f"CASE WHEN {first} RLIKE {literal(_WRITTEN)} THEN {text} ELSE {first} END"
    return text if isinstance(kind, DecimalType) else first


def _without_marks(kind: DataType, text: str, depth: int) -> str:
    """Return an expression for a text, or for those in a list or map, whose numbers are as the file has them."""
    item = f"text{depth}"
    if isinstance(kind, ArrayType):
        return f"transform({text}, {item} -> {_without_marks(kind.elementType, item, depth + 1)})"
    if isinstance(kind, MapType):
        inner = _without_marks(kind.valueType, item, depth + 1)
        return f"transform_values({text}, (name{depth}, {item}) -> {inner})"
    nested = f"regexp_replace({text}, {literal(_IN_JSON)}, '$1')"
    return (
        f"CASE WHEN startswith({text}, '{_MARK}') THEN substr({text}, 2) "
        f"WHEN contains({text}, '{_MARK}') THEN {nested} ELSE {text} END"
    )


def _needs(columns: StructType, fields: str, record: str) -> Iterator[str]:
    """Yield conditions: whether a record may have numbers whose text is lost."""
    for column in columns:
        kind, text = column.dataType, f"{fields}.{quoted(column.name)}"
        if isinstance(kind, StructType):
            yield from _needs(kind, text, record)
        elif isinstance(kind, FloatType | DoubleType):
            yield f"startswith({text}, '\"')"
        elif isinstance(kind, StringType):
            yield f"{text} RLIKE {literal(_WRITTEN)}"
        elif isinstance(kind, DecimalType):
            yield f"{record} RLIKE {literal(_MANY_DIGITS)}"
        elif isinstance(kind, ArrayType | MapType) and _leaves(kind) & _TEXTS:
            pattern = _NO_WHOLE if StringType in _leaves(kind) else _MANY_DIGITS
            yield f"{record} RLIKE {literal(pattern)}"


def _has_only_texts(kind: DataType) -> bool:
    """Whether all values in a list or map are parsed as text."""
    if isinstance(kind, ArrayType):
        return _has_only_texts(kind.elementType)
    if isinstance(kind, MapType):
        return _has_only_texts(kind.valueType)
    return isinstance(kind, StringType | DecimalType)


def _leaves(kind: DataType) -> set[type[DataType]]:
    """Return the types of the values in a type; not those of the keys of maps."""
    if isinstance(kind, ArrayType):
        return _leaves(kind.elementType)
    if isinstance(kind, MapType):
        return _leaves(kind.valueType)
    if isinstance(kind, StructType):
        return set[type[DataType]]().union(*(_leaves(field.dataType) for field in kind))
    return {type(kind)}
