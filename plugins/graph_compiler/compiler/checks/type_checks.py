"""Values of a different type than declared. Other checks rely on the types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import cache
from typing import Any, get_type_hints

from graph_compiler.declaration.connectors import Connector
from graph_compiler.declaration.operators import Operator, Sink, Source, WindowAggregate
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.declaration.transformations import PhysicalTransformation, problem_at
from graph_compiler.declaration.value_types import fits, type_words
from graph_compiler.declaration.windows import Window
from graph_compiler.errors import Problem
from graph_compiler.extensions import is_foreign
from graph_compiler.identifiers import listing, shown

_ALLOWED = {
    "options": 'a mapping: {"sep": ";"}',
    **dict.fromkeys(("size", "slide", "gap"), "a length, as '10 minutes'"),
}

_LOOKED_AT = ("rows",)
"""The fields that a connector checks itself."""


def wrong_types(pipeline: Pipeline) -> dict[int, Problem]:
    """Find connectors, windows and packages' operators with values of wrong types, by the id of their operator."""
    return {
        operator.id: problem for operator in pipeline.operators for problem in _problems(operator)
    }


def _problems(operator: PhysicalTransformation) -> Iterator[Problem]:
    value: object = None
    match operator.operator:
        case Source(connector=connector) | Sink(connector=connector):
            value = connector
        case WindowAggregate(window=window):
            value = window
        case other if is_foreign(type(other)):  # no call of the fluent API has checked its fields
            value = other
    if not isinstance(value, Connector | Operator | Window):
        return
    kind: Any = type(value)
    types = _types(kind)
    wrong = {
        field.name: getattr(value, field.name)
        for field in fields(value)
        if field.name not in _LOOKED_AT and not fits(getattr(value, field.name), types[field.name])
    }
    if wrong:
        found = listing(f"{name} is {shown(item)}" for name, item in wrong.items())
        allowed = dict.fromkeys(_ALLOWED.get(name) or type_words(types[name]) for name in wrong)
        yield problem_at(operator, found, allowed="; ".join(allowed))


@cache
def _types(kind: type[Any]) -> Mapping[str, Any]:
    return get_type_hints(kind)
