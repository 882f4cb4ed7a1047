"""The value that a text has as Python reads it: the reference for Spark's values."""

from __future__ import annotations

import re
import struct
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

MISFITS = object()
"""Instead of the value of a text that does not fit."""
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_MOMENT = re.compile(
    r"[+]?0*(\d{4})-(\d\d?)-(\d\d?)(?:[ T](\d\d?)(?::(\d\d?)(?::(\d\d?)(?:\.(\d+))?)?)?(Z|[+-]\d\d?:?\d\d| \w+/\w+)?)?",
    re.ASCII,
)
BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
KINDS = (*BITS, "DECIMAL(9,2)", "DECIMAL(9,4)", "DECIMAL(38,18)", "DECIMAL(5,0)")
KINDS += ("DOUBLE", "FLOAT", "BOOLEAN", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ")


def convert(text: str, kind: str) -> object:
    """Return the value of a text as Python has it, in Spark's text for it, or MISFITS."""
    if kind in BITS:
        is_whole = re.fullmatch(r"[+-]?[0-9]+", text) is not None
        fits = is_whole and -(1 << BITS[kind] - 1) <= int(text) < 1 << BITS[kind] - 1
        return str(int(text)) if fits else MISFITS
    if kind.startswith("DECIMAL"):
        return _decimal(text, *map(int, re.findall(r"\d+", kind)))
    if kind in ("DOUBLE", "FLOAT"):
        return _floating(text, kind)
    if kind == "BOOLEAN":
        return text.lower() if text.lower() in ("true", "false") else MISFITS
    if kind == "DATE":
        return _date(text)
    return _moment(text, has_zone=kind == "TIMESTAMP")


def _date(text: str) -> object:
    found = _MOMENT.fullmatch(text)
    if not found or found[4]:
        return MISFITS
    with suppress(ValueError):
        return date(*map(int, found.group(1, 2, 3))).isoformat()
    return MISFITS


def _decimal(text: str, precision: int, scale: int) -> object:
    found = _NUMBER.fullmatch(text)
    if found is None or abs(int((found[2] or "e0")[1:])) > 1000:
        return MISFITS
    units = Fraction(Decimal(text)) * 10**scale
    if units.denominator != 1 or abs(units) >= 10**precision:
        return MISFITS
    return (
        format(Decimal(int(units)).scaleb(-scale).quantize(Decimal(1).scaleb(-scale)), "f")
        if scale == 2
        else str(units)
    )


def _floating(text: str, kind: str) -> object:
    special = {"NaN": "nan", "Inf": "inf", "Infinity": "inf", "-Inf": "-inf", "-Infinity": "-inf"}
    if text in special:
        return special[text]
    if _NUMBER.fullmatch(text) is None or abs(float(text)) == float("inf"):
        return MISFITS
    try:
        value = float(text) if kind == "DOUBLE" else struct.unpack("f", struct.pack("f", float(text)))[0]
        return MISFITS if abs(value) == float("inf") else repr(value)
    except OverflowError:
        return MISFITS


def _moment(text: str, *, has_zone: bool) -> object:
    found = _MOMENT.fullmatch(text)
    if found is None or (found[7] or "")[6:].strip("0") or (found[8] and not has_zone):
        return MISFITS
    zone = (found[8] or "Z").strip().replace("Z", "+00:00")
    try:
        year, month, day, hour, minute, second = (int(n or 0) for n in found.group(1, 2, 3, 4, 5, 6))
        at = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
        at += timedelta(microseconds=int((found[7] or "")[:6].ljust(6, "0")))
        if "/" in zone:
            at = at.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
        else:
            at -= timedelta(hours=int(zone[:-2].rstrip(":")), minutes=int(zone[0] + zone[-2:]))
    except (ValueError, ZoneInfoNotFoundError):
        return MISFITS
    fraction = f".{at.microsecond:06}".rstrip("0.") if at.microsecond else ""
    return at.replace(microsecond=0, tzinfo=None).isoformat(" ") + fraction


def typed(text: str, kind: str) -> object:
    """Return the value of a text as Python's type for it, or MISFITS."""
    found = convert(text, kind)
    if found is MISFITS:
        return MISFITS
    if kind in BITS:
        return int(str(found))
    if kind.startswith("DECIMAL"):
        return Decimal(text)
    if kind in ("DOUBLE", "FLOAT"):
        return float(str(found))
    if kind == "BOOLEAN":
        return found == "true"
    return date.fromisoformat(str(found)) if kind == "DATE" else found
