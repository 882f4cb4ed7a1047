"""The settings of an operator as text, for its box in the view: unset ones are left out.

Join(on=(("k", "id"), ("day", "day")), how=LEFT)   →   on: k = id · how: left
                                                        on: day
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any

from graph_compiler.declaration.connectors import Secret
from graph_compiler.declaration.functions import FunctionRef
from graph_compiler.declaration.operators import Operator
from graph_compiler.identifiers import counted

_MOST = 20
_LONGEST = 300
_ROWS = "rows"
_UNSHOWN = "attributes"


def operator_details(operator: Operator) -> tuple[str, ...]:
    """Return at most twenty lines, each of a few hundred characters; rows in the declaration are only counted."""
    said = [_shortened(words) for words in _of_dataclass(operator)]
    more = len(said) - _MOST
    return (*said[:_MOST], *([f"… and {more} more"] if more > 0 else []))


def _shortened(words: str) -> str:
    one_line = " ".join(words.split())
    return one_line if len(one_line) <= _LONGEST else f"{one_line[:_LONGEST]}…"


def _of_dataclass(value: Any) -> Iterator[str]:
    for field in fields(value):
        found = getattr(value, field.name)
        if field.name != _UNSHOWN and found != _default(field):
            yield from _words(field.name, found)


def _default(field: Field[Any]) -> object:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return None if field.default is MISSING else field.default


def _words(name: str, value: Any) -> Iterator[str]:
    match value:
        case FunctionRef() | Secret():
            yield f"{name}: {value}"
        case _ if is_dataclass(value):
            yield f"{name}: {type(value).__name__}"
            yield from _of_dataclass(value)
        case tuple():
            yield from _tuple_words(name, value)
        case Mapping():
            for key, item in value.items():
                yield from _words(f"{name}.{key}", item)
        case _:
            yield f"{name}: {value}"


def _tuple_words(name: str, items: tuple[Any, ...]) -> Iterator[str]:
    if name == _ROWS:
        yield f"{name}: {counted(len(items), 'row')}"
    elif all(isinstance(item, tuple) and len(item) == 2 for item in items):
        for one, other in items:
            yield f"{name}: {one}" if one == other else f"{name}: {one} = {other}"
    else:
        yield f"{name}: {', '.join(map(str, items))}"
