"""Numbers of JSON whose text is kept: 1.50 in a STRING column, [1.50] in one, and each digit of a DECIMAL.

`from_json` reads a number into text as a double: 1.123456789012345678 becomes 1.1234567890123457, and 1e400 "Infinity".
If a record may have such a number, it is parsed again with its numbers in quotes, and the texts are those of that.

    {"s": [1.50, "x"]}   →   {"s": ["MARK1.50", "x"]}   →   s: ["MARK1.50","x"]   →   s: [1.50,"x"]

The mark is text that the record does not contain, so nothing else is taken for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

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
    StructField,
    StructType,
    VariantType,
)

from graph_compiler.identifiers import quoted
from graph_compiler.spark_runtime.columns.strict_values import sql_literal

_NEXT_NUMBER = (
    r"""(?s)\G((?:[^"'\d+\-A-Za-z_$/]++|"(?:[^"\\]++|\\.)*+"|'(?:[^'\\]++|\\.)*+'"""
    r"|/\*(?:[^*]++|\*(?!/))*+\*/|//[^\r\n]*+|/"
    r"|(?!NaN|Infinity|INF)[A-Za-z_$][\w$]*+)*+)([+-]?(?:NaN|Infinity|INF|\d[\d.eE+-]*+)(?!\s*:))"
)
"""What is before the next number outside strings and comments, and the number."""
_MARK = "\ufdd0"
"""Put before a number in quotes: Unicode reserves it for programs, so texts hardly contain it."""
_ESCAPED_MARK = r"(?i)\\ufdd0"
_END_OF_LIST = r"\]\s*\z"
_WITH_DOUBLES = frozenset[type[DataType]]({FloatType, DoubleType, VariantType})
_EMPTY_LIST = r"\A\s*\[\s*\]\s*\z"
_TOO_LARGE = r"[eE][+]?\d{2}|\d{39}"
"""A number that may be too large for a FLOAT, or a DOUBLE."""
_MANY_DIGITS = r"[0-9.]{17}|[eE]-?\d{3}"
"""A number that may be no double."""
_CHANGES = r"[:,\[]\s*(?:[+-]?(?:\d+[.eE]|0\d|NaN|Infinity|INF)|-0)"
"""A number that may be written in another way than it is read."""
_WRITTEN = r'\A(?:-?\d+\.\d+(?:E-?\d+)?|"(?:NaN|-?Infinity)")\z'
"""Text that may have been written from a double."""


def items_of_list(text: str, options: str) -> str:
    """Return an expression for the texts of the values in a list; NULL if the text is not exactly one list.

    The parser stops at the end of the list, whatever follows. So one more value is written before the last bracket.
    """
    last = sql_literal(_END_OF_LIST)
    marked = f"regexp_replace({_in_quotes(text, 'mark')}, {last}, concat(', \"', mark, '\"]'))"
    items = f"from_json({marked}, 'ARRAY<STRING>'{options})"
    exact = f"transform(slice(items, 1, size(items) - 1), item -> {_without_marks('item', 'mark')})"
    whole = f"CASE WHEN get(items, size(items) - 1) = mark THEN {exact} END"
    found = f"transform(array({items}), items -> {whole})[0]"
    return (
        f"CASE WHEN {text} RLIKE {sql_literal(_EMPTY_LIST)} THEN array() "
        f"ELSE transform(array({_mark_of(text)}), mark -> {found})[0] END"
    )


def overflows(kind: DataType, text: str, record: str) -> str | None:
    """Return a condition: whether a number may have become infinite; None if its text would show that.

    That is in lists, maps and VARIANT, where Spark makes doubles. All else is text that says infinity in the record.
    """
    if not _has_doubles(kind):
        return None
    infinite = f"regexp_count(to_json({text}), 'Infinity') > regexp_count({record}, 'Infinity|INF')"
    return f"coalesce({record} RLIKE {sql_literal(_TOO_LARGE)} AND {infinite}, false)"


def with_exact_numbers(
    parsed: DataFrame, fields: str, columns: StructType, options: Mapping[str, str], *, record: str
) -> DataFrame:
    """Return the records, the texts in whose struct `fields` are as the file has them."""
    schema: StructType = parsed.schema[fields].dataType  # type: ignore[assignment]
    has_zeros = options.get("allownumericleadingzeros", "").lower() == "true"
    ways = _Ways(record, has_zeros=has_zeros)
    needs = ways.needs(columns, schema, fields, 0)
    if needs is None:
        return parsed
    exact, mark = f"{fields}_exact", f"{fields}_mark"
    texts: StructType = _all_text(schema)  # type: ignore[assignment]
    again = when(expr(needs), from_json(expr(_in_quotes(record, mark)), texts, dict(options)))
    merge = _Merge(mark)
    merged = [
        f"{sql_literal(c.name)}, "
        f"{merge.merged(c.dataType, schema[c.name].dataType, _field(fields, c), _field(exact, c), 0)}"
        for c in columns
    ]
    merged += [
        f"{sql_literal(field.name)}, {_field(fields, field)}" for field in schema if field.name not in columns.names
    ]
    chosen = f"CASE WHEN {exact} IS NULL OR {fields} IS NULL THEN {fields} ELSE named_struct({', '.join(merged)}) END"
    marked = parsed.withColumn(mark, expr(_mark_of(record))).withColumn(exact, again)
    return marked.withColumn(fields, expr(chosen)).drop(exact, mark)


def _mark_of(record: str) -> str:
    """Return an expression for the mark of a record: if it contains the usual one, or escapes it, one with a digest.

    No text contains a digest of the whole that it is a part of.
    """
    escaped = f"contains({record}, {sql_literal(chr(92) + 'u')}) AND {record} RLIKE {sql_literal(_ESCAPED_MARK)}"
    return (
        f"CASE WHEN contains({record}, '{_MARK}') OR ({escaped}) "
        f"THEN concat('{_MARK}', sha2({record}, 256)) ELSE '{_MARK}' END"
    )


def _in_quotes(record: str, mark: str) -> str:
    """Return an expression for a record's text in which each number is a string that begins with the mark."""
    return f"regexp_replace({record}, {sql_literal(_NEXT_NUMBER)}, concat('$1\"', {mark}, '$2\"'))"


def _without_marks(text: str, mark: str) -> str:
    """Return an expression for a text whose numbers are as the file has them."""
    return f"""regexp_replace({text}, concat('"?', {mark}, '([^"]*)"?'), '$1')"""


@dataclass(frozen=True, slots=True)
class _Merge:
    """Expressions for values of both parsings; `mark` is the column of the record's mark."""

    mark: str

    def merged(self, kind: DataType, parsed: DataType, first: str, second: str, depth: int) -> str:
        """Return an expression for a value: `first` is of `parsed` type, `second` has all values as text."""
        if isinstance(kind, StructType) and isinstance(parsed, StructType):
            inner = [
                f"{sql_literal(f.name)}, "
                f"{self.merged(f.dataType, parsed[f.name].dataType, _field(first, f), _field(second, f), depth)}"
                for f in kind
            ]
            return f"CASE WHEN {first} IS NOT NULL THEN named_struct({', '.join(inner)}) END"
        if not _has_texts(kind, parsed):
            return first
        one, two = f"first{depth}", f"second{depth}"
        if isinstance(kind, ArrayType) and isinstance(parsed, ArrayType):
            item = self.merged(kind.elementType, parsed.elementType, one, two, depth + 1)
            return f"zip_with({first}, {second}, ({one}, {two}) -> {item})"
        if isinstance(kind, MapType) and isinstance(parsed, MapType):
            key = f"key{depth}"
            item = self.merged(kind.valueType, parsed.valueType, one, f"{second}[{key}]", depth + 1)
            return f"transform_values({first}, ({key}, {one}) -> {item})"
        text = _without_marks(second, self.mark)
        if isinstance(kind, FloatType | DoubleType):
            return f"CASE WHEN startswith({first}, '\"') THEN {text} ELSE {first} END"
        return text


class _Ways:
    """Conditions: whether a record may have numbers whose text is lost. `record` is its text."""

    def __init__(self, record: str, *, has_zeros: bool) -> None:
        self._changes = f"{record} RLIKE {sql_literal(_CHANGES)}"
        self._many_digits = f"{record} RLIKE {sql_literal(_MANY_DIGITS)}"
        self._starts = ["[", "{", *("0123456789" if has_zeros else "0")]

    def needs(self, kind: DataType, parsed: DataType, text: str, depth: int) -> str | None:
        """Return the condition for a value and those in it; None if no text can be lost."""
        return " OR ".join(dict.fromkeys(self._needs(kind, parsed, text, depth))) or None

    def _needs(self, kind: DataType, parsed: DataType, text: str, depth: int) -> Iterator[str]:
        if isinstance(kind, StructType) and isinstance(parsed, StructType):
            for field in kind:
                inner = parsed[field.name].dataType
                yield from self._needs(field.dataType, inner, _field(text, field), depth)
        elif not _has_texts(kind, parsed):
            return
        elif isinstance(kind, DecimalType):
            yield self._many_digits
        elif isinstance(kind, FloatType | DoubleType):
            yield f"startswith({text}, '\"')"
        elif isinstance(kind, ArrayType) and isinstance(parsed, ArrayType):
            yield from self._in_items(kind.elementType, parsed.elementType, text, depth)
        elif isinstance(kind, MapType) and isinstance(parsed, MapType):
            values = f"map_values({text})"
            yield from self._in_items(kind.valueType, parsed.valueType, values, depth)
        else:
            yield f"{text} RLIKE {sql_literal(_WRITTEN)}"
            starts = ", ".join(map(sql_literal, self._starts))
            yield f"(left({text}, 1) IN ({starts}) AND {self._changes})"

    def _in_items(self, kind: DataType, parsed: DataType, items: str, depth: int) -> Iterator[str]:
        item = f"item{depth}"
        if needs := self.needs(kind, parsed, item, depth + 1):
            yield f"coalesce(exists({items}, {item} -> {needs}), false)"


def _has_texts(kind: DataType, parsed: DataType) -> bool:
    """Whether a value has numbers that are parsed as text, and whose text counts."""
    if isinstance(kind, StructType) and isinstance(parsed, StructType):
        return any(_has_texts(f.dataType, parsed[f.name].dataType) for f in kind)
    if isinstance(kind, ArrayType) and isinstance(parsed, ArrayType):
        return _has_texts(kind.elementType, parsed.elementType)
    if isinstance(kind, MapType) and isinstance(parsed, MapType):
        return _has_texts(kind.valueType, parsed.valueType)
    counts = isinstance(kind, StringType | DecimalType | FloatType | DoubleType)
    return counts and isinstance(parsed, StringType)


def _all_text(kind: DataType) -> DataType:
    """Return a type with STRING instead of each plain type: a number in quotes is no number."""
    if isinstance(kind, StructType):
        return StructType([StructField(f.name, _all_text(f.dataType)) for f in kind])
    if isinstance(kind, ArrayType):
        return ArrayType(_all_text(kind.elementType))
    if isinstance(kind, MapType):
        return MapType(kind.keyType, _all_text(kind.valueType))
    return kind if isinstance(kind, VariantType) else StringType()


def _has_doubles(kind: DataType) -> bool:
    """Whether Spark's reader makes numbers of floating point of a value, or of a part of it."""
    if isinstance(kind, StructType):
        return any(_has_doubles(field.dataType) for field in kind)
    return isinstance(kind, ArrayType | MapType | VariantType) and bool(_leaves(kind) & _WITH_DOUBLES)


def _leaves(kind: DataType) -> set[type[DataType]]:
    """Return the types of the values in a type; not those of the keys of maps."""
    if isinstance(kind, ArrayType):
        return _leaves(kind.elementType)
    if isinstance(kind, MapType):
        return _leaves(kind.valueType)
    if isinstance(kind, StructType):
        return set[type[DataType]]().union(*(_leaves(field.dataType) for field in kind))
    return {type(kind)}


def _field(struct: str, field: StructField) -> str:
    return f"{struct}.{quoted(field.name)}"
