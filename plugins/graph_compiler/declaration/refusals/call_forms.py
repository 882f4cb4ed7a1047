"""Return why a call does not match the signature of what it calls.

Csv("/in", nullvalue="NA")   →   Csv has no parameter 'nullvalue'
allowed: Csv(path, schema=None, …, null_value='')
hint: did you mean 'null_value'?
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from inspect import Parameter, Signature, signature
from typing import Any

from graph_compiler.errors import Problem
from graph_compiler.identifiers import did_you_mean, listing, shown

HintOf = Callable[[str], str | None]
"""Returns where an argument of this name belongs; None if that is unknown."""


@cache
def form_of(function: Callable[..., Any]) -> Signature:
    """Return the signature of a method or constructor, without the object itself."""
    takes = signature(function)
    return takes.replace(parameters=list(takes.parameters.values())[1:])


def form_problem(
    name: str,
    form: Signature,
    arguments: tuple[object, ...],
    named: Mapping[str, object],
    hint_of: HintOf = lambda _: None,
) -> Problem:
    """Return the problem of a call of `name` whose arguments do not match its signature."""
    takes = list(form.parameters.values())
    by_position = [p for p in takes if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    known = [p.name for p in takes if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)]
    allowed = f"{name}({', '.join(_form(parameter) for parameter in takes)})"
    odd = [key for key in named if key not in known]
    hints = (did_you_mean(key, known) or hint_of(key) for key in odd)
    hint = next((words for words in hints if words), None)
    if odd and not any(parameter.kind is parameter.VAR_KEYWORD for parameter in takes):
        words = f"{name} has no parameter {listing(map(repr, odd))}"
        return Problem(message=words, allowed=allowed, hint=hint)
    if len(arguments) > len(by_position):
        extra = ", ".join(shown(value) for value in arguments[len(by_position) :])
        return Problem(message=f"{name} was given too many arguments: {extra}", allowed=allowed)
    missing = [
        parameter.name
        for number, parameter in enumerate(takes)
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        and parameter.name not in named
        and (parameter not in by_position or number >= len(arguments))
    ]
    twice = [p.name for p in by_position[: len(arguments)] if p.name in named]
    if missing:
        words = f"{name} was called without {listing(missing)}"
        return Problem(message=words, allowed=allowed, hint=hint)
    return Problem(message=f"{name} was given {listing(twice)} twice", allowed=allowed)


def _form(parameter: Parameter) -> str:
    word = str(parameter.replace(annotation=Parameter.empty))
    is_named = parameter.kind is Parameter.KEYWORD_ONLY and parameter.default is parameter.empty
    return f"{word}=…" if is_named else word
