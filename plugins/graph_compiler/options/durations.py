"""Durations as Flink's options write them: `10 s`, `1 min`, `2 h`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Annotated

from pydantic import BeforeValidator

_UNITS: Mapping[str, timedelta] = {
    "d": timedelta(days=1),
    "h": timedelta(hours=1),
    "min": timedelta(minutes=1),
    "m": timedelta(minutes=1),
    "s": timedelta(seconds=1),
    "sec": timedelta(seconds=1),
    "ms": timedelta(milliseconds=1),
    "": timedelta(milliseconds=1),
}
_DURATION = re.compile(r"(\d+)\s*([a-z]*)")
_ALLOWED = f"allowed: a whole number and one of {', '.join(filter(None, _UNITS))}, as in '10 s'"


def parse_duration(text: object) -> timedelta:
    """Return the duration of a text; a number without a unit is milliseconds. Raises ValueError for anything else."""
    found = _DURATION.fullmatch(str(text).strip().lower())
    if found is None or found[2] not in _UNITS:
        raise ValueError(_ALLOWED)
    try:
        return int(found[1]) * _UNITS[found[2]]
    except (OverflowError, ValueError):  # the second is raised for a number of thousands of digits
        raise ValueError(f"allowed: at most {timedelta.max.days} d") from None


def parse_duration_with_unit(text: str) -> timedelta:
    """Return the duration of a text that has a unit, or is 0: what people type is rarely milliseconds.

    Raises ValueError.
    """
    if text.strip().isdecimal() and int(text):
        raise ValueError(_ALLOWED)
    return parse_duration(text)


def format_duration(duration: timedelta) -> str:
    """Return a duration as text, as a whole number of the largest possible unit: `90 s`."""
    unit = next(unit for unit in ("d", "h", "min", "s", "ms") if not duration % _UNITS[unit])
    return f"{duration // _UNITS[unit]} {unit}"


Duration = Annotated[timedelta, BeforeValidator(parse_duration)]
"""A field that accepts a duration's text."""


UNSET = "unset"


def as_text(value: object) -> str:
    """Return a value as text: `true`, `4`, `10 s`, `AUTO`; None is `unset`."""
    match value:
        case None:
            return UNSET
        case bool():
            return str(value).lower()
        case timedelta():
            return format_duration(value)
        case StrEnum():
            return value.value
        case _:
            return str(value)
