"""Operators as the calls that create them: the inverse of `calls.py`, from the same signatures.

    filter(condition, *, rejects=None)     Filter("a > 1", "rest")     →   {filter: a > 1, rejects: rest}

A parameter is the operator's field with the same name; default values are left out. The tables below list the
differences between operator and call: a new operator whose fields are named like its parameters needs no line here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter
from typing import Any, get_args

from graph_compiler.declaration.operators import (
    Aggregate,
    AggregateAll,
    Expect,
    IntervalJoin,
    OnViolation,
    Operator,
    Select,
    Sink,
    Transform,
    UnionByName,
    WindowAggregate,
)
from graph_compiler.declaration.streams import DataStream
from graph_compiler.identifiers import quoted
from graph_compiler.projects.yaml.forms import parameters
from graph_compiler.projects.yaml.operations import OPERATIONS, RENAMED
from graph_compiler.projects.yaml.places import OPERATORS, snake
from graph_compiler.projects.yaml.writing.written_values import Step, written_value

CALLS: Mapping[type[Operator], str] = {
    # One call for rows by key (Aggregate), for all rows, and for rows in windows.
    AggregateAll: "aggregate",
    WindowAggregate: "aggregate",
    # Flink's name for the call; the operator is its noun.
    Sink: "sink_to",
}
"""Calls that are not named after their operator."""
FIELDS: Mapping[str, str] = {
    "outputs": "tags",  # the outputs of `process` are the tags of its side outputs
    "sink": "connector",  # PyFlink's name of the parameter
    "step": "function",  # the name of the parameter of `iterate`
    "to": "tag",  # `expect(…, to=…)` reads as a sentence
}
"""Parameters that are another field of their operator."""
VALUES: Mapping[tuple[type[Operator], str], Callable[[Any], object]] = {
    # The tag in `to` implies it, and `warn` is the default.
    (Expect, "on_violation"): lambda operator: (
        None
        if operator.on_violation in (OnViolation.TO, OnViolation.WARN)
        else operator.on_violation
    ),
    # Two fields, one argument.
    (IntervalJoin, "times"): lambda operator: (operator.left_time, operator.right_time),
    # An unchanged column needs no expression: `calls.py` reads both.
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
        "window" if operator.keys else "window_all": operator.window
    },
}
"""Calls before an operator's own that its value keeps: they make no transformation."""


def written_operator(operator: Operator, others: list[Any]) -> Step:
    """Return an operator's call; `others` are the names of its inputs after the first.

    Raises NotImplementedError for an operator without a call.
    """
    kind = type(operator)
    if kind in OPERATORS.values():  # another package's
        return {"apply": written_value(operator), **({"others": others} if others else {})}
    key = call_of(kind)
    operation = OPERATIONS.get(key)
    if operation is None:
        raise NotImplementedError(f"{kind.__name__} has no call in YAML")
    prefixes = BEFORE[kind](operator, others) if kind in BEFORE else {}
    step = {name: value for name, value in prefixes.items() if value is not None}
    for number, parameter in enumerate(parameters(operation.method).values()):
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
