"""Check calls of constructors while a module is loaded: connectors, windows, schedules and others.

Otherwise a wrong call raises TypeError, as for any class.
"""

from __future__ import annotations

from abc import ABCMeta
from dataclasses import replace
from inspect import Signature
from typing import Any

from graph_compiler.declaration.functions import IMPORTABLE, WHERE_TO_MOVE
from graph_compiler.declaration.locations import caller_location
from graph_compiler.declaration.refusals.call_forms import form_of, form_problem
from graph_compiler.declaration.refusals.collected import (
    is_collecting,
    note,
    problems_of,
    refused_among,
)
from graph_compiler.errors import FunctionNotImportableError, Problem


class HeldToForm(ABCMeta):
    """The metaclass of classes whose wrong calls are noted inside `collecting_refusals`; abstract bases can use it."""

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
            wrong = form_problem(cls.__name__, form, arguments, named)
            return note([replace(wrong, declared_at=caller_location())])
        try:
            return super().__call__(*arguments, **named)
        except FunctionNotImportableError as error:
            return note([_not_importable(error)])

    @property
    def __signature__(cls) -> Signature:
        """Return the signature of the constructor: `inspect` would take that of `__call__`."""
        return form_of(cls.__init__)  # type: ignore[misc]  # of the class itself


def _not_importable(error: FunctionNotImportableError) -> Problem:
    """Return the problem of a function that Spark cannot import, at the line that named it."""
    return Problem(
        message=str(error),
        allowed=IMPORTABLE,
        hint=WHERE_TO_MOVE,
        declared_at=caller_location(),
    )
