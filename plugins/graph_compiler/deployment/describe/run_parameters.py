"""A run's parameters: text from the command line, the API or Jinja, as values of their defaults' types."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from typing import Any

from graph_compiler.declaration.parameters.models import refusals_of
from graph_compiler.declaration.parameters.parameter import ParameterValue, is_bindable, json_value
from graph_compiler.declaration.parameters.typed_value import TypedValue, parse_typed_value
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.errors import ParameterError
from graph_compiler.identifiers import did_you_mean, listing
from graph_compiler.options.parameter_checks import value_problems

_MOST_DIGITS = 18
"""Of a whole number with 64 bits, after its first one."""
_TRUTH = {"true": True, "false": False}


def parse_parameter(name: str, text: str, defaults: Mapping[str, ParameterValue]) -> ParameterValue:
    """Return the typed value; raises ParameterError for an unknown name, or text of a wrong type."""
    if name not in defaults:
        hint = did_you_mean(name, defaults)
        raise ParameterError(
            f"there is no parameter '{name}'\n  allowed: {listing(defaults)}" + (f"\n  hint: {hint}" if hint else "")
        )
    default = defaults[name]
    if isinstance(default, TypedValue):
        try:
            return parse_typed_value(default.kind, text)
        except ValueError as error:
            raise ParameterError(f"parameter '{name}' is {text!r}\n  allowed: {error}; null is NULL") from None
    try:
        if isinstance(default, bool):
            return _TRUTH[text.strip().lower()]
        value = _whole(text) if isinstance(default, int) else type(default)(text)
        if not is_bindable(value):
            raise ValueError(text)
        return value
    except (KeyError, ValueError):
        allowed = "true or false" if isinstance(default, bool) else type(default).__name__
        raise ParameterError(f"parameter '{name}' is {text!r}\n  allowed: {allowed}") from None


def _whole(text: str) -> int:
    """Return a whole number, also one that is written as JSON may: 5.0 is an integer of JSON Schema."""
    with suppress(ValueError):
        return int(text)
    try:
        number = Decimal(text)
        if number.is_finite() and number.adjusted() <= _MOST_DIGITS and number == number.to_integral_value():
            return int(number)
    except InvalidOperation:
        pass
    raise ValueError(text)


def check_parameters(pipeline: Pipeline, values: Mapping[str, ParameterValue]) -> None:
    """Raise ParameterError with all problems of the values, found by the schemas and the model that declares them."""
    declared = {parameter.name: values.get(parameter.name, parameter.default) for parameter in pipeline.parameters}
    found = {str(problem.key): str(problem) for problem in value_problems(pipeline.parameters, declared)}
    for key, words in _refused_by_model(pipeline.params_model, declared):
        found.setdefault(key, words)
    if found:
        raise ParameterError("\n".join(found.values()))


def _refused_by_model(model: type[Any] | None, values: Mapping[str, ParameterValue]) -> Iterator[tuple[str, str]]:
    """Yield the errors of a pydantic model's validators, by key."""
    if model is None:
        return
    try:
        # As JSON, which is what triggers send: from JSON, a strict model accepts text as a date.
        model.model_validate_json(
            json.dumps({name: json_value(value) for name, value in values.items()}), by_alias=False, by_name=True
        )
    except Exception as error:  # a user's validators may raise any exception
        for key, words in refusals_of(error):
            yield key, f"{key}: {words}"
