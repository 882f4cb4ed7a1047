"""The allowed values of an option as text, by the type and the bounds of its field."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from pydantic.fields import FieldInfo

from graph_compiler.options.durations import format_duration

_KINDS: Mapping[str, str] = {
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "timedelta": "a duration, as 10 s",
    "str": "a name",
}
_BOUNDS: Mapping[str, str] = {"ge": "from", "gt": "over", "le": "to"}


def allowed_words(field: FieldInfo, reason: str) -> str:
    """Return what is allowed: `a whole number, from 1 to 32768`; `reason` is pydantic's, or that of our check."""
    _, separator, own = reason.partition("allowed: ")
    if separator:
        return own
    words = next(words for kind, words in _KINDS.items() if kind in str(field.annotation))
    limits = [
        f"{word} {_shown(getattr(bound, name))}"
        for name, word in _BOUNDS.items()
        for bound in field.metadata
        if hasattr(bound, name)
    ]
    return ", ".join([words, " ".join(limits)] if limits else [words])


def _shown(bound: object) -> str:
    return format_duration(bound) if isinstance(bound, timedelta) else str(bound)
