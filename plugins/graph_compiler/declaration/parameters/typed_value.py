"""Values of parameters that JSON has no type for: lists, dates, decimals and NULL, each with its type in SQL.

    {"default": "0.06", "sql_type": "DECIMAL(4, 2)"}     :rate  is 0.06 as DECIMAL(4,2), in each run
    {"default": [1, 2], "sql_type": "ARRAY<BIGINT>"}     array_contains(:ids, id)
    {"default": None, "sql_type": "DATE"}                :until is NULL as DATE

A value stays what JSON has, so that forms, triggers and documents carry it: text, numbers, lists, null.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from math import isfinite
from typing import TypeAlias

Cell: TypeAlias = str | int | float | bool | None
PythonValue: TypeAlias = str | int | float | bool | date | Decimal | list["PythonValue"] | None

SQL_TYPE = "sql_type"
"""The keyword of a parameter that names its type in SQL."""
SQL_TYPES = "BOOLEAN, INT, BIGINT, DOUBLE, STRING, DATE, DECIMAL(p, s), and ARRAY<…> of one of these"
_JSON_TYPE: Mapping[str, str] = {
    "BOOLEAN": "boolean",
    "INT": "integer",
    "BIGINT": "integer",
    "DOUBLE": "number",
    "STRING": "string",
    "DATE": "string",
    "DECIMAL": "string",
}
_BITS = {"INT": 32, "BIGINT": 64}
_DECIMAL = re.compile(r"DECIMAL\s*\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_ARRAY = re.compile(r"ARRAY\s*<\s*(.*?)\s*>", re.DOTALL)
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_MOST_DIGITS = 38
_EXACT = 2**53
"""From here on, a float is not exact: another whole number may be meant."""


@dataclass(frozen=True, slots=True)
class TypedValue:
    """A value as JSON has it, and its type in SQL as `sql_type_of` writes it; a list is a tuple."""

    kind: str
    value: str | int | float | bool | tuple[Cell, ...] | None

    @property
    def json(self) -> object:
        """The value as JSON has it."""
        return list(self.value) if isinstance(self.value, tuple) else self.value

    @property
    def python(self) -> PythonValue:
        """The value as Python has it: a `date`, a `Decimal`, a list of them, or None."""
        item = item_type(self.kind)
        if item is not None and isinstance(self.value, tuple):
            return [_python(item, cell) for cell in self.value]
        return None if isinstance(self.value, tuple) else _python(self.kind, self.value)

    def __str__(self) -> str:
        """Return the text that a template has for it."""
        return str(self.json)


def _python(kind: str, cell: Cell) -> PythonValue:
    if cell is None:
        return None
    if kind == "DATE":
        return date.fromisoformat(str(cell))
    return Decimal(str(cell)) if kind.startswith("DECIMAL") else float(cell) if kind == "DOUBLE" else cell


def sql_type_of(text: object) -> str | None:
    """Return a type in one form, `ARRAY<DECIMAL(4,2)>`; None if it is not one of SQL_TYPES."""
    if not isinstance(text, str):
        return None
    name = text.strip().upper()
    if (array := _ARRAY.fullmatch(name)) is not None:
        item = None if "<" in array[1] else sql_type_of(array[1])
        return None if item is None else f"ARRAY<{item}>"
    if (decimal := _DECIMAL.fullmatch(name)) is not None:
        precision, scale = int(decimal[1]), int(decimal[2])
        return f"DECIMAL({precision},{scale})" if 0 < precision <= _MOST_DIGITS and scale <= precision else None
    return name if name in _JSON_TYPE and name != "DECIMAL" else None


def item_type(kind: str) -> str | None:
    """Return the type of a list's items; None for a type that is not a list."""
    found = _ARRAY.fullmatch(kind)
    return None if found is None else found[1]


def json_schema_of(kind: str) -> dict[str, object]:
    """Return what JSON Schema says of the values of a type."""
    if (item := item_type(kind)) is not None:
        return {"type": "array", "items": json_schema_of(item)}
    schema: dict[str, object] = {"type": _JSON_TYPE[kind.partition("(")[0]]}
    return {**schema, "format": "date"} if kind == "DATE" else schema


def typed_value(kind: str, given: object) -> TypedValue:
    """Return a value of a type; raises ValueError with what is allowed."""
    item = item_type(kind)
    if given is None:
        return TypedValue(kind, None)
    if item is None:
        return TypedValue(kind, _cell(kind, given))
    if not isinstance(given, list | tuple):
        raise ValueError(f"a list of {item}")
    return TypedValue(kind, tuple(None if each is None else _cell(item, each) for each in given))


def parse_typed_value(kind: str, text: str) -> TypedValue:
    """Return the value of a text: JSON, or the bare text of one value. Raises ValueError with what is allowed."""
    try:
        given = json.loads(text, parse_float=Decimal if kind.startswith(("DECIMAL", "ARRAY<DECIMAL")) else float)
    except ValueError:
        if item_type(kind) is not None:
            raise ValueError(f"a list as JSON, such as {_EXAMPLES[item_type(kind) == 'STRING']}") from None
        given = text
    if kind == "STRING" and given is not None and not isinstance(given, str):
        given = text
    return typed_value(kind, given)


_EXAMPLES = {True: '["a", "b"]', False: "[1, 2]"}


def inferred_type(values: object) -> str | None:
    """Return the type of a list whose items have one type of Python; None for any other."""
    kinds = {type(each) for each in values} if isinstance(values, list | tuple) else set()
    names = {bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE", str: "STRING", date: "DATE"}
    (name,) = {names.get(kind) for kind in kinds} if len(kinds) == 1 else {None}
    return None if name is None else f"ARRAY<{name}>"


def _cell(kind: str, given: object) -> str | int | float | bool:
    name = kind.partition("(")[0]
    if name == "BOOLEAN" and isinstance(given, bool):
        return given
    if name == "STRING" and isinstance(given, str):
        return given
    if name in _BITS:
        return _whole(name, given)
    if name == "DOUBLE" and isinstance(given, int | float) and not isinstance(given, bool) and isfinite(given):
        return float(given)
    if name == "DATE":
        return _day(given)
    if name == "DECIMAL":
        return _decimal(kind, given)
    raise ValueError(_WORDS[name])


def _whole(name: str, given: object) -> int:
    if isinstance(given, float) and given.is_integer() and abs(given) < _EXACT:
        given = int(given)  # 5.0 is an integer of JSON Schema
    if not isinstance(given, int) or isinstance(given, bool):
        raise ValueError(_WORDS[name])
    if -(2 ** (_BITS[name] - 1)) <= given < 2 ** (_BITS[name] - 1):
        return given
    raise ValueError(f"a whole number of {_BITS[name]} bits")


_WORDS = {
    "BOOLEAN": "true or false",
    "STRING": "text",
    "INT": "a whole number",
    "BIGINT": "a whole number",
    "DOUBLE": "a number",
    "DATE": "a day, such as 2026-01-31",
    "DECIMAL": "a number as text, such as '0.06'",
}


def _day(given: object) -> str:
    text = given.isoformat() if type(given) is date else given
    try:
        if isinstance(text, str) and _DAY.fullmatch(text):
            return date.fromisoformat(text).isoformat()
    except ValueError:
        pass
    raise ValueError(_WORDS["DATE"])


def _decimal(kind: str, given: object) -> str:
    """Return a number as text; none of its digits may be lost in its type."""
    is_number = isinstance(given, int | float | Decimal) and not isinstance(given, bool)
    text = str(given).strip() if is_number or isinstance(given, str) else ""
    found = _DECIMAL.fullmatch(kind)
    assert found is not None, "the type was read"
    precision, scale = int(found[1]), int(found[2])
    try:
        number = Decimal(text) if _NUMBER.fullmatch(text) else None
    except InvalidOperation:
        number = None
    if number is None:
        raise ValueError(_WORDS["DECIMAL"])
    is_long = abs(number.adjusted()) > 2 * _MOST_DIGITS and bool(number)
    whole, _, fraction = ("9" * precision + "9" if is_long else f"{number.copy_abs():f}").partition(".")
    if len(fraction.rstrip("0")) > scale or len(whole.lstrip("0")) > precision - scale:
        raise ValueError(f"a number that {kind} can hold")
    return f"{number:f}"
