"""Values as JSON without their types' names, for readers that know the document's form, such as the web view."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum

from graph_compiler.deployment.documents.wire import Json


def plain_json(value: object) -> Json:
    """Encode a dataclass, tuple, enum or plain value; `wire.to_wire` is for documents that are read back."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, tuple | list):
        return [plain_json(item) for item in value]
    assert value is None or isinstance(value, bool | int | float | str), f"{value!r} is not plain"
    return value
