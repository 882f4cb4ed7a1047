"""Sizes of memory as Spark and the JVM both write them: a whole number and one letter, `512m`, `2g`."""

from __future__ import annotations

import re

_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
# Spark alone also accepts `2gb` and a number without a unit. A JVM does not start with the first as its -Xmx, and takes
# the second as bytes, Spark as mebibytes.
_SIZE = re.compile(r"([0-9]+)([kmgt])", re.IGNORECASE)

MEMORY_FORM = "a whole number and k, m, g or t, such as '2g' or '1536m'"
SMALLEST_HEAP = "450m"
"""The minimum that Spark requires of any JVM: one and a half times the 300m that it reserves for itself."""


def parse_memory(text: object) -> int | None:
    """Return a size in bytes, None if the text is no size."""
    found = _SIZE.fullmatch(text) if isinstance(text, str) else None
    return None if found is None else int(found[1]) * _UNITS[found[2].lower()]


def memory_text(size: int) -> str:
    """Return bytes as text in the largest unit without a remainder; sizes here are whole kibibytes."""
    unit = max((unit for unit in _UNITS if size % _UNITS[unit] == 0), key=_UNITS.__getitem__)
    return f"{size // _UNITS[unit]}{unit}" if size else "0m"
