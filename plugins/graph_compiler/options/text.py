"""Values of options as text, in the form of a pipeline's `config`."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum

from graph_compiler.options.durations import format_duration

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
