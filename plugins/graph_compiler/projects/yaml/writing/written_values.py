"""Values of the Python API in their YAML form: the inverse of `places.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from enum import StrEnum
from typing import Any

from graph_compiler.declaration.connectors import Connector, Secret
from graph_compiler.declaration.functions import FunctionRef
from graph_compiler.declaration.operators import (
    ChainingStrategy,
    Expect,
    Operator,
    OperatorSettings,
)
from graph_compiler.declaration.parameters.parameter import ParameterReference
from graph_compiler.declaration.resources.resource_spec import ResourceSpec
from graph_compiler.declaration.resources.slot_sharing_group import SlotSharingGroup
from graph_compiler.declaration.streams import DataStream
from graph_compiler.declaration.transformations import PhysicalTransformation
from graph_compiler.declaration.windows import Window
from graph_compiler.projects.yaml.forms import call_keys, parameters
from graph_compiler.projects.yaml.operations import SETTINGS
from graph_compiler.projects.yaml.places import key_of_kind

Step = dict[str, Any]


def written_value(value: object) -> Any:
    """Return the YAML form of any value."""
    if isinstance(value, StrEnum | FunctionRef):
        return str(value)
    if isinstance(value, ParameterReference):
        return {"param": value.name}
    if isinstance(value, Secret):
        return {"secret": value.conn_id, **_changed(value, "conn_id")}
    if isinstance(value, Connector | Operator | Window):
        return written_call(key_of_kind(type(value)), value)
    if isinstance(value, SlotSharingGroup | ResourceSpec):
        return _changed(value, None)
    return _written_collection(value)


def _written_collection(value: object) -> Any:
    if isinstance(value, Mapping):
        return {key: written_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [written_value(item) for item in value]
    return value


def written_call(key: str, value: Any) -> Step:
    """Return a connector, an operator or a window: its first argument under its key, the others as further keys."""
    kind: Callable[..., object] = type(value)
    main = next(iter(parameters(kind)), None)
    first = True if main is None else written_value(getattr(value, main))
    written = {key: first, **_changed(value, main)}
    if "options" in written:
        written["options"] = {name: written_value(item) for name, item in value.options}
    return written


_SETTINGS: Mapping[str, Callable[[PhysicalTransformation], object]] = {
    # An operator that always has one partition needs no setting for it.
    "parallelism": lambda t: None if t.operator.is_non_parallel else t.settings.parallelism,
    # A described group, or only its name.
    "slot_sharing_group": lambda t: t.settings.resource_profile or t.settings.slot_sharing_group,
    # One call sets both; by default, the preferred resources are the minimum.
    "resources": lambda t: t.settings.min_resources,
    "preferred_resources": lambda t: _preferred(t.settings),
    # Two calls set one field, to a value other than the operator's default.
    "disable_chaining": lambda t: _chaining(t) is ChainingStrategy.NEVER,
    "start_new_chain": lambda t: _chaining(t) is ChainingStrategy.HEAD,
}
"""Settings that are not the field with their name."""
_DEFINED = [
    name.removeprefix("set_") for kind in reversed(DataStream.__mro__) for name in vars(kind)
]


def written_settings(transformation: PhysicalTransformation) -> Step:
    """Return the settings of an operator except its name, in the order in which the API defines them."""
    settings = transformation.settings
    found = {
        key: _SETTINGS[key](transformation) if key in _SETTINGS else getattr(settings, key)
        for setting in sorted(SETTINGS.keys() - {"name"}, key=_DEFINED.index)
        for key in call_keys(setting, SETTINGS[setting])
    }
    is_set = {
        key: value for key, value in found.items() if value is not None and value is not False
    }
    return {key: written_value(value) for key, value in is_set.items()}


def _preferred(settings: OperatorSettings) -> ResourceSpec | None:
    preferred = settings.preferred_resources
    return None if preferred == settings.min_resources else preferred


def _chaining(transformation: PhysicalTransformation) -> ChainingStrategy | None:
    chaining = transformation.chaining_strategy
    return None if chaining is transformation.operator.chaining_strategy else chaining


def own_name(transformation: PhysicalTransformation) -> str:
    """Return the default name of an operator."""
    operator = transformation.operator
    return operator.contract if isinstance(operator, Expect) else operator.default_name


def _changed(value: Any, main: str | None) -> Step:
    kind: Callable[..., object] = type(value)
    given = parameters(kind)
    return {
        f.name: written_value(getattr(value, f.name))
        for f in fields(value)
        if f.name != main
        and f.name in given
        and getattr(value, f.name) != given[f.name].default
        and getattr(value, f.name) not in ((), {})
    }
