"""Check calls of the fluent API against their signatures, and report all problems of a module at once.

    orders.filter(3)   →   after 'orders': filter was given condition=3
                             allowed: text

A refused call raises at its line. Inside `collecting_refusals` it is recorded and returns a `Refused`, on which any
method may be called, so that the rest of a module is checked, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, wraps
from inspect import Parameter, isfunction, signature
from typing import Any, NoReturn, Protocol, TypeVar, get_type_hints

from graph_compiler.declaration.value_types import fits, type_words
from graph_compiler.errors import InvalidPipelineError, Problem
from graph_compiler.identifiers import did_you_mean, listing, shown

Kind = TypeVar("Kind")
Method = TypeVar("Method", bound=Callable[..., Any])
_COLLECTED: ContextVar[list[Problem] | None] = ContextVar("collected", default=None)
_NOT_HELD = ("DataStream", "StreamGraph")
"""Types that are imported for type checkers only."""


class Remembering(Protocol):
    """An environment: it keeps what was refused on it, because its module is imported once and may be read again."""

    refused: list[Problem]


class Refusing(Protocol):
    """An object of the fluent API whose calls are checked."""

    @property
    def environment(self) -> Remembering:
        """Return the environment that the call belongs to."""

    def refuse(
        self, message: str, *, allowed: str | None = None, hint: str | None = None
    ) -> NoReturn:
        """Raise InvalidPipelineError with the place of the call."""


class Refused:
    """The result of a refused call while refusals are collected."""

    def __getattr__(self, name: str) -> Refused:
        """Return itself for whatever is called on it."""
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_: object, **__: object) -> Refused:
        """Return itself."""
        return self


@contextmanager
def collecting_refusals() -> Iterator[list[Problem]]:
    """Collect the problems of refused calls instead of raising them."""
    found: list[Problem] = []
    token = _COLLECTED.set(found)
    try:
        yield found
    finally:
        _COLLECTED.reset(token)


def held_to_signatures(kind: type[Kind]) -> type[Kind]:
    """Check the arguments of all public methods of a class."""
    for name, method in list(vars(kind).items()):
        if isfunction(method) and not name.startswith("_") and name != "refuse":
            setattr(kind, name, held_to_signature(method))
    return kind


def held_to_signature(method: Method) -> Method:
    """Check the arguments of one method."""

    @wraps(method)
    def call(self: Refusing, *arguments: object, **named: object) -> object:
        for value in (*arguments, *named.values()):
            if isinstance(value, Refused):
                return value
        try:
            _check(method, self, arguments, named)
            return method(self, *arguments, **named)
        except InvalidPipelineError as error:
            collected = _COLLECTED.get()
            if collected is None:
                raise
            collected.extend(error.problems)
            self.environment.refused.extend(error.problems)
            return Refused()

    return call  # type: ignore[return-value]  # it is called as the method is


def _check(
    method: Callable[..., Any],
    on: Refusing,
    arguments: tuple[object, ...],
    named: Mapping[str, object],
) -> None:
    name, takes = method.__name__, _form_of(method)
    try:
        bound = takes.bind(on, *arguments, **named)
    except TypeError:
        _refuse_shape(on, name, list(takes.parameters.values())[1:], arguments, named)
    types = _types(method)
    wrong = []
    for parameter, value in bound.arguments.items():
        if (annotation := types.get(parameter)) is None:
            continue
        given = _given(takes.parameters[parameter], value)
        wrong += [(words, annotation) for words, item in given if not fits(item, annotation)]
    if wrong:
        allowed = dict.fromkeys(type_words(annotation) for _, annotation in wrong)
        on.refuse(
            f"{name} was given {listing(words for words, _ in wrong)}", allowed="; ".join(allowed)
        )


def _given(parameter: Parameter, value: Any) -> list[tuple[str, object]]:
    """Return the values that a parameter was given, each as text for a message."""
    match parameter.kind:
        case Parameter.VAR_POSITIONAL:
            return [(f"{shown(item)} among its {parameter.name}", item) for item in value]
        case Parameter.VAR_KEYWORD:
            return [(f"{key}={shown(item)}", item) for key, item in value.items()]
        case _:
            return [(f"{parameter.name}={shown(value)}", value)]


def _refuse_shape(
    on: Refusing,
    name: str,
    takes: list[Parameter],
    arguments: tuple[object, ...],
    named: Mapping[str, object],
) -> NoReturn:
    by_position = [p for p in takes if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    known = [p.name for p in takes if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)]
    form = f"{name}({', '.join(_form(parameter) for parameter in takes)})"
    odd = [key for key in named if key not in known]
    hints = (did_you_mean(key, known) or _setter_hint(on, name, key) for key in odd)
    hint = next((words for words in hints if words), None)
    if odd and not any(parameter.kind is parameter.VAR_KEYWORD for parameter in takes):
        on.refuse(f"{name} has no parameter {listing(map(repr, odd))}", allowed=form, hint=hint)
    if len(arguments) > len(by_position):
        extra = ", ".join(shown(value) for value in arguments[len(by_position) :])
        on.refuse(f"{name} was given too many arguments: {extra}", allowed=form)
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
        on.refuse(f"{name} was called without {listing(missing)}", allowed=form, hint=hint)
    on.refuse(f"{name} was given {listing(twice)} twice", allowed=form)


def _setter_hint(on: Refusing, name: str, key: str) -> str | None:
    """Return a hint where a setting belongs that was passed to an operator's call: `sink_to(…, name=…)`."""
    for setter in (key, f"set_{key}"):
        method = getattr(type(on), setter, None)
        if isfunction(method) and key in signature(method).parameters:
            return f"call .{setter}(…) on what {name} returns"
    return None


def _form(parameter: Parameter) -> str:
    word = str(parameter.replace(annotation=Parameter.empty))
    is_named = parameter.kind is Parameter.KEYWORD_ONLY and parameter.default is parameter.empty
    return f"{word}=…" if is_named else word


_form_of = cache(signature)


@cache
def _types(method: Callable[..., Any]) -> Mapping[str, Any]:
    """Return the types of parameters; streams are checked by the calls themselves."""
    return get_type_hints(method, localns=dict.fromkeys(_NOT_HELD, Any))
