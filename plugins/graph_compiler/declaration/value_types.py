"""Whether a value is of a declared type, and a description of that type.

    fits(3, str)   →   False        type_words(str)   →   text

Types without a short description (functions, streams, connectors) accept anything here: the calls check them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import date, datetime, timedelta
from functools import cache
from itertools import repeat
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from graph_compiler.declaration.connectors.secret import Secret
from graph_compiler.declaration.operators.merge import Merge
from graph_compiler.declaration.parameters.parameter import ParameterReference
from graph_compiler.declaration.windows import Window
from graph_compiler.extensions import is_foreign

_WORDS: Mapping[Any, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    NoneType: "None",
    timedelta: "a timedelta",
    date: "a date",
    datetime: "a datetime",
    ParameterReference: 'param("name")',
    Secret: "Secret('connection id')",
    Merge: 'Merge(sequence_by="changed_at")',
    Window: 'TumblingEventTimeWindows("at", "1 hour") and the like',
}


_NOT_HELD = dict.fromkeys(("DataStream", "StreamGraph"), Any)
"""Types that are only imported for type checkers."""


@cache
def annotated_type(annotation: str, module: str) -> Any:
    """Return the type that an annotation in a module names.

    Evaluating all annotations of each method and class of a declaration took a tenth of parsing a Dag; few are asked
    for, and most are alike.
    """
    named = SimpleNamespace(__annotations__={"it": annotation})
    return get_type_hints(named, vars(sys.modules[module]), _NOT_HELD)["it"]


@cache
def field_types(kind: type) -> Mapping[str, Any]:
    """Return the types of the fields of a dataclass, by name."""
    if is_foreign(kind):  # it may be written without future annotations
        return get_type_hints(kind)
    modules = {
        name: base.__module__ for base in reversed(kind.__mro__) for name in vars(base).get("__annotations__", ())
    }
    return {field.name: annotated_type(str(field.type), modules[field.name]) for field in fields(kind)}


def fits(value: object, type: Any) -> bool:
    """Whether a value is of a type; an int is a number, a bool is not."""
    origin, arguments = get_origin(type), get_args(type)
    if origin in (Union, UnionType):
        return any(fits(value, choice) for choice in arguments)
    if origin is Literal:  # the call itself checks the value
        return isinstance(value, str)
    if origin in (tuple, Sequence, Iterable):
        return _is_row(value) and _fit(_items(value), arguments)
    if origin is Mapping:
        return isinstance(value, Mapping) and all(map(_fit, value.items(), repeat(arguments)))
    if type in (int, float):
        kinds = int if type is int else (int, float)
        return isinstance(value, kinds) and not isinstance(value, bool)
    return type not in _WORDS or isinstance(value, type)


def value_words(type: Any) -> str:
    """Return the allowed values as text: `text or None`."""
    origin, arguments = get_origin(type), get_args(type)
    if origin in (Union, UnionType):
        return ", or ".join(dict.fromkeys(value_words(choice) for choice in arguments if choice is not NoneType))
    if origin is Literal:
        return ", ".join(map(str, arguments))
    if origin is tuple and Ellipsis not in arguments:
        return f"{len(arguments)} values, each {value_words(arguments[0])}"
    if origin in (tuple, Sequence, Iterable):
        return f"several values, each {value_words(arguments[0])}"
    if origin is Mapping:
        return f"a mapping of names to {value_words(arguments[1])}"
    return _WORDS.get(type, getattr(type, "__name__", str(type)))


def _fit(items: Sequence[object], types: tuple[Any, ...]) -> bool:
    """Whether values fit types; a single type, as of a list, applies to any number of values."""
    if len(types) == 1 or Ellipsis in types:
        return all(fits(item, types[0]) for item in items)
    return len(items) == len(types) and all(map(fits, items, types))


def _is_row(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _items(value: object) -> Sequence[object]:
    assert isinstance(value, Sequence)
    return value
