"""Every call of the fluent API as a step: its keys, and the kinds of streams it is called on.

The parameters of a method are read from its signature. Only differences between a file and Python are listed here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import GenericAlias
from typing import Self, get_type_hints

from graph_compiler.declaration.connectors import Connector
from graph_compiler.declaration.environment import StreamExecutionEnvironment
from graph_compiler.declaration.streams import ConnectedStreams, DataStream, DataStreamSink, KeyedStream, WindowedStream
from graph_compiler.projects.yaml import places, values
from graph_compiler.projects.yaml.forms import TYPES, Key, call_keys, first_paragraph, make_form, union_of
from graph_compiler.projects.yaml.values import Form, SqlText

STREAMS = (DataStream, KeyedStream, WindowedStream, ConnectedStreams)
PREFIXES = ("connect", "key_by", "grouping_sets", "rollup", "cube", "window", "window_all")
"""Calls that may be in the same step as the call after them, in this order."""
_BEHIND_KEYS = ("transform", "map_partitions", "process", "iterate", "apply", "apply_in_pandas", "reduce", "aggregate")
_PREFIXED = {**dict.fromkeys(_BEHIND_KEYS, ("key_by",)), "transform": ("connect", "key_by"), "aggregate": PREFIXES[1:]}
RENAMED = {"deterministic": "deterministic_function"}
"""Parameters with the name of a setting that has another meaning."""
_ARE_SETTINGS = ("expensive",)
_MAINS = {"select": values.Selection, "grouping_sets": values.Sets, "sql": SqlText}


@dataclass(frozen=True, slots=True)
class Operation:
    """A method, under the key it has in a file."""

    key: str
    method: Callable[..., object]
    keys: Mapping[str, Key]


def _methods() -> dict[str, Callable[..., object]]:
    found: dict[str, Callable[..., object]] = {}
    for kind in STREAMS:
        for name, method in inspect.getmembers(kind, inspect.isfunction):
            if not name.startswith("_") and name != "refuse" and not _returns_self(method):
                found.setdefault(name, method)
    return found


def _returns_self(method: Callable[..., object]) -> bool:
    scope = {kind.__name__: kind for kind in (*STREAMS, DataStreamSink)}
    return get_type_hints(method, localns=scope).get("return") is Self


def _settings() -> dict[str, Callable[..., object]]:
    return {
        name.removeprefix("set_"): method
        for name, method in inspect.getmembers(DataStream, inspect.isfunction)
        if not name.startswith("_") and _returns_self(method)
    }


SETTINGS: Mapping[str, Callable[..., object]] = _settings()
"""The settings of an operator, by key."""
SETTING_KEYS: Mapping[str, Key] = {
    name: Key(key.type, doc=key.doc)
    for setting, method in SETTINGS.items()
    for name, key in call_keys(setting, method).items()
}
_LABEL = Key(str, doc="The name that other steps use for it in `from`, if that is not its own.")
_NAME_OF_A_STEP = "The operator's name, which other steps use in `from`."


def _operation(name: str, method: Callable[..., object]) -> Operation:
    key = name.rstrip("_")
    keys = call_keys(key, method, _MAINS.get(key))
    keys = {RENAMED.get(name, name): value for name, value in keys.items() if name not in _ARE_SETTINGS}
    if key == "sql":
        keys["streams"] = Key(
            GenericAlias(dict, (str, TYPES[DataStream])), doc="The streams of {name} in the query; without, {input}."
        )
    return Operation(key, method, keys)


# Broadcasts and side outputs: short enough to write in place of a stream's name.
_ROUTES = (
    "rebalance",
    "shuffle",
    "rescale",
    "forward",
    "broadcast",
    "global_",
    "partition_custom",
    "key_by",
    "stage",
    "pipelined",
)
_INLINE = (*_ROUTES, "get_side_output")
_FROM_NAME = Key(str, doc="The step, source or stream whose rows it reads.")


def _inline() -> Mapping[str, type[Form]]:
    operations = [_operation(name, _methods()[name]) for name in _INLINE]
    return {
        operation.key: make_form(
            f"{operation.key}_of",
            {"from": Key(str, is_required=True, doc=_FROM_NAME.doc), **operation.keys},
            first_paragraph(operation.method),
        )
        for operation in operations
    }


INLINE_FORMS = _inline()
StreamName = union_of(INLINE_FORMS, "stream", plain=str)
TYPES[DataStream] = StreamName
TYPES[tuple[DataStream, ...]] = list[StreamName]  # type: ignore[valid-type]  # made, not written

FROM = Key(
    StreamName,
    doc="What it reads: a name, or {from: name, broadcast: true} and the like. The step before, if left out.",
)
OPERATIONS: Mapping[str, Operation] = {
    operation.key: operation for operation in (_operation(*item) for item in _methods().items())
}
_READ = Operation(
    "from_source",
    StreamExecutionEnvironment.from_source,
    {
        "from_source": Key(
            TYPES[Connector], is_required=True, doc=first_paragraph(StreamExecutionEnvironment.from_source)
        )
    },
)


def _step_keys(operation: Operation) -> dict[str, Key]:
    prefixes = {
        prefix: Key(OPERATIONS[prefix].keys[prefix].type, doc=OPERATIONS[prefix].keys[prefix].doc)
        for prefix in _PREFIXED.get(operation.key, ())
    }
    return {"from": FROM, **prefixes, **operation.keys, "as": _LABEL, **SETTING_KEYS}


STEP_FORMS = {
    **{
        key: make_form(f"{key}_step", _step_keys(operation), first_paragraph(operation.method))
        for key, operation in OPERATIONS.items()
    },
    "from_source": make_form(
        "from_source_step",
        {**_READ.keys, "as": _LABEL, **SETTING_KEYS, "name": Key(str, is_required=True)},
        first_paragraph(_READ.method),
    ),
}
Step = union_of(STEP_FORMS, "step")
SOURCE_FORMS = {
    key: make_form(
        f"{key}_source",
        # A field of another package's connector may have the name of a setting: then the key is the field's.
        {**keys, **{name: SETTING_KEYS[name] for name in SETTING_KEYS if name not in ("name", *keys)}},
        places.CONNECTORS[key].__doc__,
    )
    for key, keys in places.CONNECTOR_KEYS.items()
}
Source = union_of(SOURCE_FORMS, "source")
_SINK = OPERATIONS["sink_to"]
Sink = make_form(
    "sink",
    {
        "from": Key(StreamName, is_required=True, doc=FROM.doc),
        **_SINK.keys,
        **{name: setting for name, setting in SETTING_KEYS.items() if name != "name"},
    },
    first_paragraph(_SINK.method),
)
