"""Numbers of JSON whose text is kept: 1.50 in a STRING column, and each digit of a DECIMAL.

`from_json` reads a number into text as a double: 1.123456789012345678 becomes 1.1234567890123457, and 1e400 "Infinity".
If a record may have such a number, it is parsed again with its numbers in quotes, and the texts are those of that.
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
    r"|(?!NaN|Infinity|INF)[A-Za-z_$][\w$]*+)*+)([+-]?(?:NaN|Infinity|INF|\d[\d.eE+-]*+))"
)
"""What is before the next number outside strings, and the number."""
_MANY_DIGITS = r"[0-9.]{17}|[eE]-?\d{3}"
"""A number that may be no double."""
_FRACTION = r"[:,\[]\s*[+-]?\d+[.eE]"
_WRITTEN = r'\A(?:-?\d+\.\d+(?:E-?\d+)?|"(?:NaN|-?Infinity)")\z'
"""Text that may have been written from a double."""


def with_numbers_in_quotes(record: str) -> str:
    """Return an expression for a record's text in which each number is a string."""
    return f"regexp_replace({record}, {literal(_NEXT_NUMBER)}, '$1\"$2\"')"


def with_exact_numbers(
    parsed: DataFrame,
    fields: str,
    columns: StructType,
    options: Mapping[str, str],
    *,
    record: str,
    in_quotes: str,
) -> DataFrame:
    """Return the records, the texts in whose struct `fields` are as the file has them.

    `in_quotes` is a record's text with its numbers in quotes; NULL if it must be made from `record`.
    """
    schema: StructType = parsed.schema[fields].dataType  # type: ignore[assignment]
    needs = " OR ".join(dict.fromkeys(_needs(columns, fields, f"coalesce({in_quotes}, {record})")))
    if not needs:
        return parsed
    quoted_numbers = f"coalesce({in_quotes}, {with_numbers_in_quotes(record)})"
    exact = f"{fields}_exact"
    again = when(expr(needs), from_json(expr(quoted_numbers), schema, dict(options)))
    texts = [f"{literal(c.name)}, {_text(c.dataType, fields, exact, c.name)}" for c in columns]
    texts += [
        f"{literal(name)}, {fields}.{quoted(name)}"
        for name in schema.names
        if name not in columns.names
    ]
    chosen = f"CASE WHEN {exact} IS NULL OR {fields} IS NULL THEN {fields} ELSE named_struct({', '.join(texts)}) END"
    return parsed.withColumn(exact, again).withColumn(fields, expr(chosen)).drop(exact)


def _text(kind: DataType, fields: str, exact: str, name: str) -> str:
    """Return an expression for one field of both structs."""
    first, second = f"{fields}.{quoted(name)}", f"{exact}.{quoted(name)}"
    if isinstance(kind, StructType):
        inner = [f"{literal(f.name)}, {_text(f.dataType, first, second, f.name)}" for f in kind]
        return f"CASE WHEN {first} IS NOT NULL THEN named_struct({', '.join(inner)}) END"
    if isinstance(kind, ArrayType | MapType):
        return second if _has_only_texts(kind) else first
    if isinstance(kind, FloatType | DoubleType):
        return f"CASE WHEN startswith({first}, '\"') THEN {second} ELSE {first} END"
    if isinstance(kind, StringType):  # a list or an object in it keeps its numbers without quotes
        return f"CASE WHEN {first} RLIKE {literal(_WRITTEN)} THEN {second} ELSE {first} END"
    return second if isinstance(kind, DecimalType) else first


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
        elif isinstance(kind, ArrayType | MapType) and _has_only_texts(kind):
            yield f"{record} RLIKE {literal(_FRACTION)}"


def _has_only_texts(kind: DataType) -> bool:
    """Whether all values in a list or map are parsed as text."""
    if isinstance(kind, ArrayType):
        return _has_only_texts(kind.elementType)
    if isinstance(kind, MapType):
        return _has_only_texts(kind.valueType)
    return isinstance(kind, StringType | DecimalType)
