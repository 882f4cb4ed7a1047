"""Check calls of constructors while a module is loaded: connectors, windows, schedules, environments.

Otherwise a wrong call raises TypeError, as for any class.
"""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Iterable, Mapping
from dataclasses import replace
from inspect import Signature
from typing import Any

from graph_compiler.declaration.functions import IMPORTABLE, WHERE_TO_MOVE
from graph_compiler.declaration.locations import caller_location
from graph_compiler.declaration.refusals.call_forms import form_of, form_problem
from graph_compiler.declaration.refusals.collected import (
    add_new,
    is_collecting,
    note,
    problems_of,
    refused_among,
)
from graph_compiler.errors import FunctionNotImportableError, InvalidPipelineError, Problem

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
    return Problem(
        message=str(error),
        allowed=IMPORTABLE,
        hint=WHERE_TO_MOVE,
        declared_at=caller_location(),
    )
