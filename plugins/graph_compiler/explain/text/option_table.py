"""The table of docs/options.md, made from the model.

| `staging.ttl` | a duration above 0 | 7 d | ours | How long … |
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from enum import StrEnum
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from graph_compiler.options.durations import as_text
from graph_compiler.options.flink_options import FLINK_DEFAULTS
from graph_compiler.options.model import PipelineOptions

_HEAD = ("key", "allowed", "default", "in Flink", "meaning")
_NOUNS = {int: "a whole number", float: "a number", timedelta: "a duration", str: "a name"}
_BOUNDS = {"ge": "from {}", "gt": "above {}", "le": "to {}"}
_NOTHING = timedelta(0)


def option_table() -> str:
    """Return the table as Markdown, in the model's order."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield _row(_HEAD)
    yield _row(["---"] * len(_HEAD))
    for field in PipelineOptions.model_fields.values():
        key, default = str(field.alias), as_text(field.default)
        cells = (f"`{key}`", _allowed(field), default, _in_flink(key, default))
        yield _row((*cells, str(field.description)))


def _row(cells: tuple[str, ...] | list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _in_flink(key: str, default: str) -> str:
    if key not in FLINK_DEFAULTS:
        return "ours"
    return "the same" if FLINK_DEFAULTS[key] == default else f"default {FLINK_DEFAULTS[key]}"


def _allowed(field: FieldInfo) -> str:
    kind = _kind(field.annotation)
    if issubclass(kind, StrEnum):
        return ", ".join(member.value for member in kind)
    if kind is bool:
        return "true, false"
    if kind is str and not field.metadata:
        return "text"
    bounds = [
        words.format("0" if bound == _NOTHING else as_text(bound))
        for limit in field.metadata
        for name, words in _BOUNDS.items()
        if (bound := getattr(limit, name, None)) is not None
    ]
    return " ".join([_NOUNS[kind], *bounds])


def _kind(annotation: Any) -> type:
    """Return the type of a value that may be unset."""
    if get_origin(annotation) in (Union, UnionType):
        (annotation,) = (kind for kind in get_args(annotation) if kind is not type(None))
    assert isinstance(annotation, type), "an option is a plain value"
    return annotation
