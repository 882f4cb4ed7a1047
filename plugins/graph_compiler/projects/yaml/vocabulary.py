"""The keys of a file: connectors, windows, operators, settings and steps, each a call of the Python API.

Each is read from a signature, so that additions to the API get a YAML form automatically. Only differences between a
file and Python are listed here. A connector of our own has its class name as the key; a connector or an operator of
another package has the name of its entry point. A package that cannot be imported, or whose class has no form, only
affects files that use its key: the reason is reported there.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from itertools import chain
from types import GenericAlias
from typing import Annotated, Any, Self, get_type_hints

from pydantic import PlainValidator, WithJsonSchema

from graph_compiler.declaration.connectors import Connector
from graph_compiler.declaration.environment import StreamExecutionEnvironment
from graph_compiler.declaration.operators import Merge, Operator
from graph_compiler.declaration.resources.resource_spec import ResourceSpec
from graph_compiler.declaration.resources.slot_sharing_group import SlotSharingGroup
from graph_compiler.declaration.streams import ConnectedStreams, DataStream, DataStreamSink, KeyedStream, WindowedStream
from graph_compiler.declaration.windows import Window
from graph_compiler.extensions import Extensible, load_kind, registered
from graph_compiler.projects.yaml.forms import (
    PLAIN_TYPES,
    Call,
    Form,
    Key,
    Selection,
    Sets,
    SqlText,
    either,
    leaves,
    make_call,
    make_form,
    refused,
    shown_value,
    union_of,
)

_KEY = re.compile(r"[a-z][a-z0-9_]*")


def snake(name: str) -> str:
    """Return the key of a class name: `FunctionSource` → `function_source`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _window_key(kind: type) -> str:
    """Return the key of a window's name: `TumblingEventTimeWindows` → `tumbling`."""
    return snake(kind.__name__.replace("EventTime", "").removesuffix("Windows"))


def _of_packages(base: type[Extensible], taken: Collection[str]) -> tuple[dict[str, Call], dict[str, str]]:
    """Return the calls that installed packages add, and why others have none, each by key; `taken` keys are skipped."""
    calls: dict[str, Call] = {}
    reasons: dict[str, str] = {}
    for entry in registered(base):
        key = entry.name
        if _KEY.fullmatch(key) is None:
            reasons[key] = "the name of its entry point is not lowercase letters, digits and '_'"
        elif key in taken or key in calls:
            reasons[key] = f"'{entry.value}' is registered for a key that is taken"
        else:
            try:
                calls[key] = make_call(key, load_kind(entry, base))
            except Exception as error:  # another package may raise any exception
                reasons[key] = str(error)
    return calls, reasons


_OWN = {snake(kind.__name__): make_call(snake(kind.__name__), kind) for kind in leaves(Connector)}
_FOREIGN, _NO_CONNECTORS = _of_packages(Connector, taken=_OWN)
CONNECTORS: Mapping[str, Call] = {**_OWN, **_FOREIGN}
OPERATORS, _NO_OPERATORS = _of_packages(Operator, taken=())
"""The operators that `apply` takes: those of other packages."""
REFUSED: Mapping[str, str] = {**_NO_CONNECTORS, **_NO_OPERATORS}
"""The reasons why kinds of other packages have no form, by the key they would have."""
WINDOWS: Mapping[str, Call] = {_window_key(kind): make_call(_window_key(kind), kind) for kind in leaves(Window)}


def key_of_kind(kind: type) -> str:
    """Return the key of a connector, a window or a package's operator."""
    known = chain(CONNECTORS.items(), OPERATORS.items(), WINDOWS.items())
    return next(key for key, call in known if call.of is kind)


def _no_operators(value: object) -> object:
    raise refused(f"is {shown_value(value)}", "operators of packages that register some; none is installed")


def _union(calls: Mapping[str, Call], group: str, name: str = "") -> Any:
    return union_of({key: make_form(name.format(key) or call.of.__name__, call) for key, call in calls.items()}, group)


_KIND_TYPES: Mapping[Any, Any] = {
    **PLAIN_TYPES,
    Connector: _union(CONNECTORS, "connector"),
    Operator: _union(OPERATORS, "operator", "{}_operator")
    if OPERATORS
    else Annotated[Any, PlainValidator(_no_operators), WithJsonSchema({"type": "object"})],
    Window: _union(WINDOWS, "window"),
    ResourceSpec: make_form(ResourceSpec.__name__, make_call(None, ResourceSpec)),
    Merge: make_form(Merge.__name__, make_call(None, Merge)),
    str | SlotSharingGroup: either(str, make_form(SlotSharingGroup.__name__, make_call(None, SlotSharingGroup))),
}

SPECS = (ResourceSpec, SlotSharingGroup, Merge)
"""Values that are written as a mapping of their arguments, without a key of their own."""
STREAMS = (DataStream, KeyedStream, WindowedStream, ConnectedStreams)
PREFIXES = ("connect", "key_by", "grouping_sets", "rollup", "cube", "window", "window_all", "side_output_late_data")
"""Calls that may be in the same step as the call after them, in this order."""
_BEHIND_KEYS = ("transform", "map_partitions", "process", "iterate", "apply", "apply_in_pandas", "reduce", "aggregate")
_PREFIXED = {**dict.fromkeys(_BEHIND_KEYS, ("key_by",)), "transform": ("connect", "key_by"), "aggregate": PREFIXES[1:]}
RENAMED = {"deterministic": "deterministic_function"}
"""Parameters with the name of a setting that has another meaning."""
_ARE_SETTINGS = ("expensive",)
_MAINS = {"select": Selection, "grouping_sets": Sets, "sql": SqlText}


def _methods() -> dict[str, Callable[..., object]]:
    found: dict[str, Callable[..., object]] = {}
    for kind in STREAMS:
        for name, method in inspect.getmembers(kind, inspect.isfunction):
            if not name.startswith("_") and name != "refuse" and not _returns_self(method):
                # What rows by key take is more than what all rows do.
                before = found.setdefault(name, method)
                if _number_of_parameters(method) > _number_of_parameters(before):
                    found[name] = method
    return found


def _number_of_parameters(method: Callable[..., object]) -> int:
    return len(inspect.signature(method).parameters)


def _returns_self(method: Callable[..., object]) -> bool:
    scope = {kind.__name__: kind for kind in (*STREAMS, DataStreamSink)}
    return get_type_hints(method, localns=scope).get("return") is Self


def _settings() -> dict[str, Callable[..., object]]:
    return {
        name.removeprefix("set_"): method
        for name, method in inspect.getmembers(DataStream, inspect.isfunction)
        if not name.startswith("_") and _returns_self(method)
    }


SETTINGS: Mapping[str, Call] = {key: make_call(key, method, _KIND_TYPES) for key, method in _settings().items()}
SETTING_KEYS: Mapping[str, Key] = {
    name: Key(key.type, doc=key.doc) for setting in SETTINGS.values() for name, key in setting.keys.items()
}
_LABEL = Key(str, doc="The name that other steps use for it in `from`, if that is not its own.")


def _operation(name: str, types: Mapping[Any, Any]) -> Call:
    key, method = name.rstrip("_"), _METHODS[name]
    call = make_call(key, method, types, _MAINS.get(key))
    keys = {RENAMED.get(name, name): value for name, value in call.keys.items() if name not in _ARE_SETTINGS}
    if key == "sql":
        streams = GenericAlias(dict, (str, types[DataStream]))
        keys["streams"] = Key(streams, doc="The streams of {name} in the query; without, {input}.")
    return replace(call, keys=keys)


_METHODS = _methods()
# Broadcasts and side outputs: short enough to write in place of a stream's name.
_INLINE = (
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
    "get_side_output",
)
_FROM_NAME = "The step, source or stream whose rows it reads."


def _inline_form(call: Call) -> type[Form]:
    return make_form(f"{call.key}_of", call, {"from": Key(str, is_required=True, doc=_FROM_NAME), **call.keys})


INLINE_FORMS = {name.rstrip("_"): _inline_form(_operation(name, _KIND_TYPES)) for name in _INLINE}
_STREAM = union_of(INLINE_FORMS, "stream", plain=str)
_TYPES = {**_KIND_TYPES, DataStream: _STREAM, tuple[DataStream, ...]: list[_STREAM]}  # type: ignore[valid-type]  # made
FROM = Key(
    _STREAM, doc="What it reads: a name, or {from: name, broadcast: true} and the like. The step before, if left out."
)
OPERATIONS: Mapping[str, Call] = {name.rstrip("_"): _operation(name, _TYPES) for name in _METHODS}
"""The calls on streams."""
_READ = make_call("from_source", StreamExecutionEnvironment.from_source, _TYPES)
_PREVIOUS = make_call("from_target", StreamExecutionEnvironment.from_target, _TYPES)
_PREVIOUS_KEYS = {name: key for name, key in _PREVIOUS.keys.items() if name != "source_name"}
POSITION_KEYS: Mapping[str, Key] = {
    key: replace(_READ.keys[key], doc=doc)
    for key, doc in (
        (
            "only_new",
            "true: only files, or commits of a table, since the last run; a column: only rows of higher values.",
        ),
        ("unbounded", "true: it never ends, and each run reads the files that have arrived: docs/streaming.md."),
        ("lag", "How far the rows stay behind the column's highest value: 10 minutes, or 1000 for numbers."),
    )
}
"""What a source has besides its connector: which part of it is read."""


def _step_form(key: str, operation: Call) -> type[Form]:
    prefixes = {
        prefix: replace(OPERATIONS[prefix].keys[prefix], is_required=False) for prefix in _PREFIXED.get(key, ())
    }
    keys = {"from": FROM, **prefixes, **operation.keys, "as": _LABEL, **SETTING_KEYS}
    return make_form(f"{key}_step", operation, keys)


STEP_FORMS = {
    **{key: _step_form(key, operation) for key, operation in OPERATIONS.items()},
    "from_source": make_form(
        "from_source_step",
        _READ,
        {
            **{key: _READ.keys[key] for key in ("from_source", *POSITION_KEYS)},
            "as": _LABEL,
            **SETTING_KEYS,
            "name": Key(str, is_required=True),
        },
    ),
    "from_target": make_form(
        "from_target_step",
        _PREVIOUS,
        {**_PREVIOUS_KEYS, "as": _LABEL, **SETTING_KEYS, "name": Key(str, is_required=True)},
    ),
}
Step = union_of(STEP_FORMS, "step")
# A field of another package's connector may have the name of a setting: then the key is the field's.
_OF_SOURCES = {**POSITION_KEYS, **{name: key for name, key in SETTING_KEYS.items() if name != "name"}}
SOURCE_FORMS = {
    key: make_form(
        f"{key}_source", call, {**call.keys, **{k: _OF_SOURCES[k] for k in _OF_SOURCES if k not in call.keys}}
    )
    for key, call in CONNECTORS.items()
} | {
    "from_target": make_form(
        "from_target_source",
        _PREVIOUS,
        {**_PREVIOUS_KEYS, **{name: setting for name, setting in SETTING_KEYS.items() if name != "name"}},
    )
}
Source = union_of(SOURCE_FORMS, "source")
_SINK = OPERATIONS["sink_to"]
Sink = make_form(
    "sink",
    _SINK,
    {
        "from": Key(_STREAM, is_required=True, doc=FROM.doc),
        **_SINK.keys,
        **{name: setting for name, setting in SETTING_KEYS.items() if name != "name"},
    },
)
