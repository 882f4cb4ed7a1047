"""The columns in Spark's schema JSON, with the types that OpenLineage's integration of Spark gives them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column; `fields` are those of a struct, of an array's elements, and key and value of a map."""

    name: str
    type: str
    fields: tuple[Column, ...] = ()


def columns(schema: str) -> tuple[Column, ...]:
    """Return the columns of Spark's schema JSON."""
    return tuple(_column(each["name"], each["type"]) for each in json.loads(schema)["fields"])


def _column(name: str, type: Any) -> Column:
    if not isinstance(type, dict):
        return Column(name=name, type=type)
    match type["type"]:
        case "struct":
            fields = tuple(_column(each["name"], each["type"]) for each in type["fields"])
        case "array":
            fields = (_column("_element", type["elementType"]),)
        case "map":
            fields = (_column("key", type["keyType"]), _column("value", type["valueType"]))
        case _:  # a user-defined type
            return Column(name=name, type=str(type.get("class") or type.get("pyClass") or "udt"))
    return Column(name=name, type=type["type"], fields=fields)
