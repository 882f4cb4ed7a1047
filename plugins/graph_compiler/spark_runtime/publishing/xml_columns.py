"""Columns whose names or types XML would not preserve; Spark writes some of them as meaningless text.

    a name that is not an element's         'a b', '1a', 'a:b'
    an attribute that is not a plain value  `_a` as a DATE is written as a number of days, as BINARY '[B@4b17'
    text beside elements                    `_VALUE` beside other columns comes back with the blanks between them
    maps, arrays in arrays, variants, intervals

The options attributePrefix and valueTag decide which names are attributes and text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DayTimeIntervalType,
    MapType,
    NumericType,
    StringType,
    StructField,
    StructType,
    VariantType,
    YearMonthIntervalType,
)

from graph_compiler.spark_runtime.columns.declared_schema import type_words

_REFUSED = (MapType, VariantType, YearMonthIntervalType, DayTimeIntervalType)
_PLAIN = (StringType, BooleanType, NumericType)
_FIRST = (
    r"A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f"
    r"\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_NAME = re.compile(rf"[{_FIRST}][{_FIRST}\-.0-9\u00b7\u0300-\u036f\u203f\u2040]*")
"""Names of XML 1.0, without the colon of a namespace."""


def why_not_xml(columns: StructType, options: Mapping[str, str]) -> Iterator[str]:
    """Yield the problems with each column of a file; `options` are the writer's."""
    known = {key.lower(): value for key, value in options.items()}
    marks = (known.get("attributeprefix", "_"), known.get("valuetag", "_VALUE"))
    for column in columns:
        if any(_is_refused(kind) for kind in _kinds(column.dataType)):
            yield f"column '{column.name}' is {type_words(column.dataType)}"
    for struct in _kinds(columns):
        if isinstance(struct, StructType):
            yield from _fields(struct, *marks)


def _fields(struct: StructType, prefix: str, text: str) -> Iterator[str]:
    elements = [field.name for field in struct if field.name != text and not field.name.startswith(prefix)]
    for field in struct:
        is_text = field.name == text
        is_attribute = not is_text and field.name.startswith(prefix)
        if is_text and elements:
            yield f"column '{text}' is the text of an element, so '{elements[0]}' cannot be beside it"
        if (is_text or is_attribute) and not isinstance(field.dataType, _PLAIN):
            what = "the text of an element" if is_text else "an attribute"
            yield f"column '{field.name}' is {type_words(field.dataType)}, which {what} cannot hold"
        if not is_text and not _NAME.fullmatch(_name(field, prefix if is_attribute else "")):
            yield f"column {field.name!r}: its name is not valid in XML"


def _name(field: StructField, prefix: str) -> str:
    return field.name.removeprefix(prefix)


def _is_refused(kind: DataType) -> bool:
    in_array = isinstance(kind, ArrayType) and isinstance(kind.elementType, ArrayType)
    return in_array or isinstance(kind, _REFUSED)


def _kinds(kind: DataType) -> Iterator[DataType]:
    """Yield a type and all types nested in it; a refused type is not searched."""
    yield kind
    if isinstance(kind, ArrayType):
        yield from _kinds(kind.elementType)
    if isinstance(kind, StructType):
        for field in kind:
            yield from _kinds(field.dataType)
