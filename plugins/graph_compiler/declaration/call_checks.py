"""Check calls of the fluent API against their signatures, and report all problems of a module at once.

    orders.filter(3)   →   after 'orders': filter was given condition=3
                             allowed: text

A refused call raises at its line. Inside `collecting_refusals` it is recorded and returns a `Refused`, on which any
method may be called, so that the rest of a module is checked, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial, wraps
from inspect import Parameter, isfunction, signature
from typing import Any, NoReturn, Protocol, TypeVar, runtime_checkable

from graph_compiler.declaration.refusals.collected import Remembering, is_collecting, note, problems_of, refused_among
from graph_compiler.declaration.refusals.constructors import form_of, form_problem
from graph_compiler.declaration.value_types import annotated_type, fits, value_words
from graph_compiler.errors import InvalidPipelineError, Problem, SourceLocation
from graph_compiler.identifiers import listing, shown

Kind = TypeVar("Kind")
Method = TypeVar("Method", bound=Callable[..., Any])


class Refusing(Protocol):
    """An object of the fluent API whose calls are checked."""

    @property
    def environment(self) -> Remembering:
        """Return the environment that the call belongs to."""

    def refuse(self, message: str, *, allowed: str | None = None, hint: str | None = None) -> NoReturn:
        """Raise InvalidPipelineError with the place of the call."""


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
        try:
            if given := refused_among(arguments, named):
                raise InvalidPipelineError(self.environment.name, problems_of(given))
            _check(method, self, arguments, named)
            return method(self, *arguments, **named)
        except InvalidPipelineError as error:
            if not is_collecting():
                raise
            return note(error.problems, self.environment)

    return call  # type: ignore[return-value]  # it is called like the method


def _check(
    method: Callable[..., Any], on: Refusing, arguments: tuple[object, ...], named: Mapping[str, object]
) -> None:
    name, form = method.__name__, form_of(method)
    try:
        bound = form.bind(*arguments, **named)
    except TypeError:
        wrong_form = form_problem(name, form, arguments, named, partial(_setter_hint, on, name))
        on.refuse(wrong_form.message, allowed=wrong_form.allowed, hint=wrong_form.hint)
    annotations = method.__annotations__
    wrong = []
    for parameter, value in bound.arguments.items():
        if parameter not in annotations:
            continue
        annotation = annotated_type(annotations[parameter], method.__module__)
        given = _given(form.parameters[parameter], value)
        wrong += [(words, annotation) for words, item in given if not fits(item, annotation)]
    if wrong:
        allowed = dict.fromkeys(value_words(annotation) for _, annotation in wrong)
        on.refuse(f"{name} was given {listing(words for words, _ in wrong)}", allowed="; ".join(allowed))


def _given(parameter: Parameter, value: Any) -> list[tuple[str, object]]:
    """Return the values that were passed for a parameter, each with its text for a message."""
    match parameter.kind:
        case Parameter.VAR_POSITIONAL:
            return [(f"{shown(item)} among its {parameter.name}", item) for item in value]
        case Parameter.VAR_KEYWORD:
            return [(f"{key}={shown(item)}", item) for key, item in value.items()]
        case _:
            return [(f"{parameter.name}={shown(value)}", value)]


def _setter_hint(on: Refusing, name: str, key: str) -> str | None:
    """Return a hint if a setting was passed to an operator's call: where it belongs (`sink_to(…, name=…)`)."""
    for setter in (key, f"set_{key}"):
        method = getattr(type(on), setter, None)
        if isfunction(method) and key in signature(method).parameters:
            return f"call .{setter}(…) on what {name} returns"
    return None


# Every declared value that can be invalid has `problems()`; functions here add the operator to each problem.
#
#     list(Sample(2).problems())                  →  [Problem(message="its fraction is 2, not between 0 and 1", …)]
#     list(problems_at(operator, operator.operator))  →  the same, with the operator's name and its line
#
# These checks need only the standard library. Checks that need a package (cron expressions, JSON Schemas) are functions
# of the same form in `options`: `schedule_problems`, `default_problems`.


@runtime_checkable
class Checked(Protocol):
    """A value that finds its own problems; it does not know which operator it belongs to."""

    def problems(self) -> Iterator[Problem]:
        """Yield every problem of the value itself; its message continues a sentence that starts with the operator."""
        ...


class Declared(Protocol):
    """A transformation or an operator's descriptor: it has a name and a line."""

    @property
    def name(self) -> str:
        """The operator's name."""
        ...

    @property
    def declared_at(self) -> SourceLocation | None:
        """Where it was declared."""
        ...


def problems_at(declared: Declared, value: Checked) -> Iterator[Problem]:
    """Yield the problems of a value, with the name and the line of its operator."""
    for problem in value.problems():
        yield located(declared, problem)


def located(declared: Declared, problem: Problem) -> Problem:
    """Return a problem with its operator's name and line."""
    return replace(problem, operator=declared.name, declared_at=declared.declared_at)
