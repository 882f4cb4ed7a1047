"""Values as JSON for programs of others, which do not need the names of our types."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache

from graph_compiler.deployment.documents.wire import PLAIN, Json

EXPLAIN_ONLY = "explain only"
"""In the metadata of a field: documents do not have it."""


def plain_json(value: object) -> Json:
    """Encode a dataclass, tuple, enum or plain value; `wire.to_wire` is for documents that are read back."""
    if type(value) in PLAIN:
        return value  # type: ignore[return-value]  # its type is one of these
    if is_dataclass(value) and not isinstance(value, type):
        return {name: plain_json(getattr(value, name)) for name in _written(type(value))}
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, tuple | list):
        return [plain_json(item) for item in value]
    assert isinstance(value, bool | int | float | str), f"{value!r} is not plain"
    return value


@cache
def _written(kind: type) -> tuple[str, ...]:
    """Return the names of the fields that documents have."""
    return tuple(field.name for field in fields(kind) if EXPLAIN_ONLY not in field.metadata)
