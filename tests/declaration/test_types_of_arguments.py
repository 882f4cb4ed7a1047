"""The types that arguments and fields are held to are those that Python finds for whole methods and classes."""

from __future__ import annotations

from dataclasses import fields
from inspect import isfunction, unwrap
from typing import Any, get_type_hints

import pytest

from graph_compiler.declaration import streams
from graph_compiler.declaration.connectors import Connector
from graph_compiler.declaration.environment import StreamExecutionEnvironment
from graph_compiler.declaration.value_types import annotated_type, field_types
from graph_compiler.declaration.windows import Window
from graph_compiler.extensions import is_foreign

FLUENT = [each for each in vars(streams).values() if isinstance(each, type)] + [StreamExecutionEnvironment]
METHODS = {
    f"{kind.__name__}.{name}": unwrap(method)
    for kind in FLUENT
    for base in kind.__mro__
    for name, method in vars(base).items()
    if isfunction(method) and hasattr(method, "__wrapped__")
}


def _kinds(base: type[Any]) -> list[type[Any]]:
    return [base, *(each for kind in base.__subclasses__() for each in _kinds(kind))]


@pytest.mark.parametrize("name", METHODS)
def test_the_parameters_of_a_method(name: str) -> None:
    method = METHODS[name]
    whole = get_type_hints(method, localns={"DataStream": Any, "StreamGraph": Any})
    found = {key: annotated_type(text, method.__module__) for key, text in method.__annotations__.items()}
    assert found == whole


@pytest.mark.parametrize("kind", [*_kinds(Connector), *_kinds(Window)])
def test_the_fields_of_a_connector_or_window(kind: Any) -> None:
    if not is_foreign(kind):
        whole = get_type_hints(kind)
        assert field_types(kind) == {field.name: whole[field.name] for field in fields(kind)}
