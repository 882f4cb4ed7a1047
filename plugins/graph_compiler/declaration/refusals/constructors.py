"""Check calls of constructors while a module is loaded: connectors, windows, schedules, environments.

Otherwise a wrong call raises TypeError, as for any class.
"""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from inspect import Parameter, Signature, signature
from typing import Any

from graph_compiler.declaration.functions import IMPORTABLE, WHERE_TO_MOVE
from graph_compiler.declaration.locations import caller_location
from graph_compiler.declaration.refusals.collected import add_new, is_collecting, note, problems_of, refused_among
from graph_compiler.errors import FunctionNotImportableError, InvalidPipelineError, Problem
from graph_compiler.identifiers import did_you_mean, listing, shown

_REFUSED = "refused"
"""A name that every environment may have; one that stands in has that of the refused one afterwards."""


class HeldToForm(ABCMeta):
    """The metaclass of classes whose wrong calls are noted inside `collecting_refusals`; abstract bases can use it.

    Its classes may have `hints`: by the name of a parameter that they do not have, why, and what to do.
    """

    hints: Mapping[str, str] = {}

    def __call__(cls, *arguments: Any, **named: Any) -> Any:
        """Make a value; return a `Refused` if the call is refused, or was passed one."""
        if not is_collecting():
            return super().__call__(*arguments, **named)
        if refused := refused_among(arguments, named):
            return note(problems_of(refused))
        form = cls.__signature__
        try:
            form.bind(*arguments, **named)
        except TypeError:
            wrong = form_problem(cls.__name__, form, arguments, named, cls.hints.get)
            return note([replace(wrong, declared_at=caller_location())])
        try:
            return super().__call__(*arguments, **named)
        except FunctionNotImportableError as error:
            return note([_not_importable(error)])

    @property
    def __signature__(cls) -> Signature:
        """Return the signature of the constructor: `inspect` would take that of `__call__`."""
        return form_of(cls.__init__)  # type: ignore[misc]  # of the class itself


class StandsIn(type):
    """The class of environments: inside `collecting_refusals`, an empty one stands in for one that is refused.

    So the calls on it are checked, too; `is_refused` says that what is declared in it is not the pipeline.
    """

    def __call__(cls, *arguments: Any, **named: Any) -> Any:
        """Make an environment; note why it is refused, and return one without settings."""
        if not is_collecting():
            return super().__call__(*arguments, **named)
        form = cls.__signature__
        try:
            form.bind(*arguments, **named)
        except TypeError:
            wrong = form_problem(cls.__name__, form, arguments, named)
            name = named.get("name", arguments[0] if arguments else "")
            return cls._standing_in(str(name), [replace(wrong, declared_at=caller_location())])
        try:
            return super().__call__(*arguments, **named)
        except InvalidPipelineError as error:
            return cls._standing_in(error.pipeline, error.problems)

    def _standing_in(cls, name: str, problems: Iterable[Problem]) -> Any:
        stand_in = super().__call__(_REFUSED)
        stand_in.name, stand_in.is_refused = name, True
        add_new(stand_in.refused, note(problems))
        return stand_in

    @property
    def __signature__(cls) -> Signature:
        """Return what the constructor takes: `inspect` would take that of `__call__`."""
        return form_of(cls.__init__)  # type: ignore[misc]  # a class's own is meant


def _not_importable(error: FunctionNotImportableError) -> Problem:
    """Return the problem of a function that Spark cannot import, at the line that named it."""
    is_found = error.allowed is not None  # and cannot be called so
    return Problem(
        message=str(error),
        allowed=error.allowed if is_found else IMPORTABLE,
        hint=error.hint if is_found else WHERE_TO_MOVE,
        declared_at=caller_location(),
    )


# Return why a call does not match the signature of what it calls.
#
# Csv("/in", nullvalue="NA")   →   Csv has no parameter 'nullvalue'
# allowed: Csv(path, schema=None, …, null_value='')
# hint: did you mean 'null_value'?

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
