"""Operators as the calls that create them: the inverse of `declare.py`, from the same signatures.

    filter(condition, *, rejects=None)     Filter("a > 1", "rest")     →   {filter: a > 1, rejects: rest}

A parameter is the operator's field with the same name; default values are left out. The tables below list the
differences between operator and call: a new operator whose fields are named like its parameters needs no line here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from enum import StrEnum
from inspect import Parameter
from typing import Any, get_args

from graph_compiler.declaration.connectors import Connector, Secret
from graph_compiler.declaration.functions import FunctionRef
from graph_compiler.declaration.operators import (
    Aggregate,
    AggregateAll,
    ChainingStrategy,
    ContractOperator,
    Expect,
    ExpectIn,
    ExpectUnique,
    IntervalJoin,
    KeyedProcess,
    OnViolation,
    Operator,
    OperatorSettings,
    Process,
    RowContract,
    Select,
    Sink,
    TimestampsAndWatermarks,
    Transform,
    UnionByName,
    WindowAggregate,
)
from graph_compiler.declaration.parameters.parameter import ParameterReference
from graph_compiler.declaration.resources.resource_spec import ResourceSpec
from graph_compiler.declaration.streams import DataStream
from graph_compiler.declaration.transformations import PhysicalTransformation
from graph_compiler.declaration.windows import Window
from graph_compiler.identifiers import quoted
from graph_compiler.projects.yaml.forms import parameters
from graph_compiler.projects.yaml.vocabulary import OPERATIONS, OPERATORS, RENAMED, SETTINGS, SPECS, key_of_kind, snake

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
    if isinstance(value, SPECS):
        changed = _changed(value, None)
        return changed["name"] if changed.keys() == {"name"} else changed  # its name is enough
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
    for field in value.pairs if isinstance(value, Connector) else ():
        if field in written:
            written[field] = {name: written_value(item) for name, item in getattr(value, field)}
    return written


_SETTINGS: Mapping[str, Callable[[PhysicalTransformation], object]] = {
    # An operator that always has one partition needs no setting for it.
    "parallelism": lambda t: None if t.operator.is_non_parallel else t.settings.parallelism,
    # One call sets both; by default, the preferred resources are the minimum.
    "resources": lambda t: t.settings.min_resources,
    "preferred_resources": lambda t: _preferred(t.settings),
    # Two calls set one field, to a value other than the operator's default.
    "disable_chaining": lambda t: _chaining(t) is ChainingStrategy.NEVER,
    "start_new_chain": lambda t: _chaining(t) is ChainingStrategy.HEAD,
}
"""Settings that are not the field with their name."""
_DEFINED = [name.removeprefix("set_") for kind in reversed(DataStream.__mro__) for name in vars(kind)]


def written_settings(transformation: PhysicalTransformation) -> Step:
    """Return the settings of an operator except its name, in the order in which the API defines them."""
    settings = transformation.settings
    found = {
        key: _SETTINGS[key](transformation) if key in _SETTINGS else getattr(settings, key)
        for setting in sorted(SETTINGS.keys() - {"name"}, key=_DEFINED.index)
        for key in SETTINGS[setting].keys
    }
    is_set = {key: value for key, value in found.items() if value is not None and value is not False}
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
    return operator.contract if isinstance(operator, ContractOperator) else operator.default_name


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


CALLS: Mapping[type[Operator], str] = {
    # One call for rows by key (Aggregate), for all rows, and for rows in windows.
    AggregateAll: "aggregate",
    WindowAggregate: "aggregate",
    # One call for functions of DataFrames, and for classes with state by key.
    KeyedProcess: "process",
    # Flink's name for the call; the operator is its noun.
    Sink: "sink_to",
    TimestampsAndWatermarks: "assign_timestamps_and_watermarks",
}
"""Calls that are not named after their operator."""
FIELDS: Mapping[str, str] = {
    "outputs": "tags",  # the outputs of `process` are the tags of its side outputs
    "sink": "connector",  # PyFlink's name of the parameter
    "step": "function",  # the name of the parameter of `iterate`
    "to": "tag",  # `expect(…, to=…)` reads as a sentence
}
"""Parameters that are another field of their operator."""


def _outcome(operator: RowContract) -> OnViolation | None:
    outcome = operator.outcome()
    return None if outcome in (OnViolation.TO, OnViolation.WARN) else outcome


VALUES: Mapping[tuple[type[Operator], str], Callable[[Any], object]] = {
    # The tag in `to` implies it, and `warn` is the default.
    **{(kind, "on_violation"): _outcome for kind in (Expect, ExpectUnique, ExpectIn)},
    # One call, of which each operator has one form.
    (KeyedProcess, "outputs"): lambda _: (),
    (Process, "schema"): lambda _: None,
    (Process, "time"): lambda _: None,
    # Two fields, one argument.
    (IntervalJoin, "times"): lambda operator: (operator.left_time, operator.right_time),
    (Sink, "partitions"): lambda operator: dict(operator.partitions),
    # An unchanged column needs no expression: `declare.py` reads both.
    (Select, "columns"): lambda operator: [
        name if text == quoted(name) else {name: text} for name, text in operator.columns
    ],
    # Without it the call declares a union, which is no operator.
    (UnionByName, "allow_missing_columns"): lambda _: True,
}
"""Arguments that are not one field of their operator."""
BEFORE: Mapping[type[Operator], Callable[[Any, list[Any]], Step]] = {
    Aggregate: lambda operator, _: {"grouping_sets": operator.grouping_sets},
    Transform: lambda _, others: {"connect": others or None},
    WindowAggregate: lambda operator, _: {
        "window" if operator.keys else "window_all": operator.window,
        "side_output_late_data": operator.late_data,
    },
}
"""Calls before an operator's own that its value keeps: they make no transformation."""


def written_operator(operator: Operator, others: list[Any]) -> Step:
    """Return an operator's call; `others` are the names of its inputs after the first.

    Raises NotImplementedError for an operator without a call.
    """
    kind = type(operator)
    if any(kind is call.of for call in OPERATORS.values()):  # another package's
        return {"apply": written_value(operator), **({"others": others} if others else {})}
    key = call_of(kind)
    operation = OPERATIONS.get(key)
    if operation is None:
        raise NotImplementedError(f"{kind.__name__} has no call in YAML")
    prefixes = BEFORE[kind](operator, others) if kind in BEFORE else {}
    step = {name: value for name, value in prefixes.items() if value is not None}
    for number, parameter in enumerate(parameters(operation.of).values()):
        word = RENAMED.get(parameter.name, parameter.name) if number else key
        if word not in operation.keys:  # a setting: written with the others
            continue
        value = _argument(operator, parameter, others)
        if not number or not _can_be_omitted(value, parameter):
            step[word] = value
    return {word: written_value(value) for word, value in step.items()}


def call_of(kind: type[Operator]) -> str:
    """Return the key of the call that creates an operator: that of its name, `FlatMap` → `flat_map`."""
    return CALLS.get(kind, snake(kind.__name__))


def _argument(operator: Operator, parameter: Parameter, others: list[Any]) -> object:
    """Return the argument of the call for a parameter."""
    if parameter.annotation is DataStream:
        return others if parameter.kind is Parameter.VAR_POSITIONAL else others[0]
    special = VALUES.get((type(operator), parameter.name))
    if special is not None:
        return special(operator)
    value = getattr(operator, FIELDS.get(parameter.name, parameter.name))
    if parameter.kind is Parameter.VAR_KEYWORD:
        return dict(value)
    kinds = get_args(parameter.annotation)
    if Mapping[str, str] in (parameter.annotation, *kinds):
        return _same_names(value) if str in kinds else dict(value)
    return value


def _can_be_omitted(value: object, parameter: Parameter) -> bool:
    return value is None or value == parameter.default or value in ((), [], {})


def _same_names(pairs: tuple[tuple[str, str], ...]) -> list[str] | dict[str, str]:
    """Return columns with the same names on both sides as a list, others as a mapping."""
    same = all(left == right for left, right in pairs)
    return [left for left, _ in pairs] if same else dict(pairs)
