"""Values of the Python API as a file writes them: what `places.py` reads, the other way round."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from enum import StrEnum
from typing import Any

from graph_compiler.declaration.connectors import Connector, Secret
from graph_compiler.declaration.functions import FunctionRef
from graph_compiler.declaration.operators import ChainingStrategy, Expect
from graph_compiler.declaration.transformations import PhysicalTransformation
from graph_compiler.declaration.windows import Window
from graph_compiler.projects.yaml.forms import parameters
from graph_compiler.projects.yaml.places import snake, window_key

Step = dict[str, Any]


def written_value(value: object) -> Any:
    """Write a value, whatever it is."""
    if isinstance(value, StrEnum | FunctionRef):
        return str(value)
    if isinstance(value, Secret):
        return {"secret": value.conn_id, **_changed(value, "conn_id")}
    if isinstance(value, Connector):
        return written_call(snake(type(value).__name__), value)
    if isinstance(value, Window):
        return written_call(window_key(type(value)), value)
    return _written_collection(value)


def _written_collection(value: object) -> Any:
    if isinstance(value, Mapping):
        return {key: written_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [written_value(item) for item in value]
    return value


def written_call(key: str, value: Any) -> Step:
    """Write a connector or a window: its first argument behind the key, what is not left out beside it."""
    kind: Callable[..., object] = type(value)
    main = next(iter(parameters(kind)))
    written = {key: written_value(getattr(value, main)), **_changed(value, main)}
    if "options" in written:
        written["options"] = {name: written_value(item) for name, item in value.options}
    return written


def written_settings(transformation: PhysicalTransformation) -> Step:
    """Write what is set on an operator, but for its name."""
    operator = transformation.operator
    parallelism = None if operator.is_non_parallel else transformation.parallelism
    group: Any = transformation.slot_sharing_group
    if transformation.resource_profile is not None:
        group = written_mapping(transformation.resource_profile)
    chaining = transformation.chaining_strategy
    is_own = chaining is operator.chaining_strategy
    least, wanted = transformation.min_resources, transformation.preferred_resources
    settings = {
        "description": transformation.description,
        "uid": transformation.uid,
        "uid_hash": transformation.uid_hash,
        "task_id": transformation.task_id,
        "parallelism": parallelism,
        "max_parallelism": transformation.max_parallelism,
        "slot_sharing_group": group,
        "resources": None if least is None else written_mapping(least),
        "preferred_resources": None if wanted in (None, least) else written_mapping(wanted),
        "disable_chaining": (not is_own and chaining is ChainingStrategy.NEVER) or None,
        "start_new_chain": (not is_own and chaining is ChainingStrategy.HEAD) or None,
        "expensive": transformation.expensive or None,
        "deterministic": transformation.deterministic or None,
    }
    return {key: value for key, value in settings.items() if value is not None}


def own_name(transformation: PhysicalTransformation) -> str:
    """Give the name an operator has if nobody gives it one."""
    operator = transformation.operator
    return operator.contract if isinstance(operator, Expect) else operator.default_name


def written_mapping(value: Any) -> Step:
    """Write a value as its fields, those left out that are as they would be."""
    return _changed(value, "")


def _changed(value: Any, main: str) -> Step:
    kind: Callable[..., object] = type(value)
    given = parameters(kind)
    return {
        f.name: written_value(getattr(value, f.name))
        for f in fields(value)
        if f.name != main
        and getattr(value, f.name) != given[f.name].default
        and getattr(value, f.name) not in ((), {})
    }
