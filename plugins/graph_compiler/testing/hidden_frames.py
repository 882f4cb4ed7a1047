"""A failed test shows the lines of the test, and the message; not the lines of this package."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from graph_compiler.errors import GraphCompilerError

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def hides_frames(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Drop the traceback of a failed assertion or of an error with its own message; others are bugs, and keep it."""

    @wraps(function)
    def called(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        __tracebackhide__ = True
        try:
            return function(*args, **kwargs)
        except (AssertionError, GraphCompilerError) as error:
            raise error.with_traceback(None)  # noqa: B904  # it is the same error, with its own cause

    return called
