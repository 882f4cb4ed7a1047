"""Keyword arguments of a function: whether it accepts them, and whether values have the annotated type."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from graph_compiler.declaration.functions import form_of_function, keywords_of, takes_any_keyword, why_not_callable
from graph_compiler.declaration.parameters.parameter import (
    RUN_DATE,
    Argument,
    Parameter,
    ParameterReference,
    is_bindable,
    python_value,
)
from graph_compiler.declaration.value_types import fits, value_words
from graph_compiler.errors import Problem
from graph_compiler.identifiers import counted, did_you_mean, listing, shown

_PLAIN: Mapping[Any, type] = {
    **{kind: kind for kind in (str, int, float, bool)},
    **{kind.__name__: kind for kind in (str, int, float, bool)},
}
"""The types of keywords that are checked, as types and as text; others are left to the function."""


def bound_arguments(arguments: Mapping[str, Argument]) -> tuple[tuple[str, Argument], ...]:
    """Return arguments sorted by name, since their order in a call does not matter."""
    return tuple(sorted(arguments.items()))


def argument_problems(
    function: Callable[..., object], inputs: int, arguments: Mapping[str, Argument], declared: tuple[Parameter, ...]
) -> Iterator[Problem]:
    """Yield why a function cannot be called with its inputs and keywords; parameters are checked by their defaults."""
    keywords = keywords_of(function, inputs)
    odd = [name for name in arguments if name not in keywords and not takes_any_keyword(function)]
    if odd:
        yield Problem(
            message=f"binds {listing(map(repr, odd))}, but its function is {form_of_function(function)}",
            allowed=listing(keywords) if keywords else "no keywords",
            hint=did_you_mean(odd[0], keywords),
        )
        return
    if reason := why_not_callable(function, inputs, arguments):
        yield Problem(
            message=reason, allowed=f"a function of {counted(inputs, 'argument')}", hint=_hint(keywords, arguments)
        )
        return
    defaults = {parameter.name: python_value(parameter.default) for parameter in declared} | {RUN_DATE: ""}
    for name, value in arguments.items():
        yield from _value_problems(function.__name__, name, value)
        known = defaults.get(value.name) if isinstance(value, ParameterReference) else value
        expected = _PLAIN.get(keywords.get(name))
        if known is not None and expected is not None and not fits(known, expected):
            yield Problem(
                message=f"binds {name} to {_words(value, known)}, and {function.__name__} takes "
                f"{name}: {expected.__name__}",
                allowed=value_words(expected),
            )


def _hint(keywords: Mapping[str, Any], arguments: Mapping[str, Argument]) -> str | None:
    missing = [name for name in keywords if name not in arguments]
    bound = ", ".join(f'{name}=param("{name}")' for name in missing)
    return f"bind values or parameters of the pipeline by keyword: {bound}" if bound else None


def _value_problems(function: str, name: str, value: Argument) -> Iterator[Problem]:
    if isinstance(value, ParameterReference):
        if not isinstance(value.name, str):
            yield Problem(message=f"binds {name} to param({shown(value.name)})", allowed="a name")
    elif isinstance(value, str) and ("{{" in value or "{%" in value):
        yield Problem(
            message=f"binds {name} to the template {shown(value)}, which {function} would get as it is",
            hint='bind a parameter: param("name"), or param("run_date") for the day of the run',
        )
    elif not is_bindable(value):
        yield Problem(
            message=f"binds {name} to {shown(value)}",
            allowed="a whole number of 64 bits" if isinstance(value, int) else "a finite number",
        )


def _words(value: Argument, known: object) -> str:
    if isinstance(value, ParameterReference):
        return f"the parameter '{value.name}', which is {shown(known)} by default"
    return shown(value)
