"""What a file refers to: functions by their importable name, queries by their path."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from inspect import isfunction
from pathlib import Path

from graph_compiler.errors import FunctionNotImportableError
from graph_compiler.identifiers import did_you_mean

MAX_QUERY = 1_000_000
_REFERENCE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")


def find_function(reference: str) -> Callable[..., object]:
    """Import `module:function`; raises FunctionNotImportableError, whatever the module itself raises."""
    if _REFERENCE.fullmatch(reference) is None:
        raise FunctionNotImportableError(f"is {reference!r}")
    module_name, _, name = reference.partition(":")
    try:
        module = import_module(module_name)
    except Exception as error:  # whatever a person's module raises is an answer
        raise FunctionNotImportableError(
            f"cannot import {module_name}: {type(error).__name__}: {error}"
        ) from None
    function = getattr(module, name, None)
    if not callable(function):
        known = [key for key, value in vars(module).items() if isfunction(value)]
        hint = did_you_mean(name, known)
        raise FunctionNotImportableError(
            f"{module_name} has no function '{name}'{f'; {hint}' if hint else ''}"
        )
    return function  # type: ignore[no-any-return]  # getattr gives Any; callable was just checked


def read_query(path: Path) -> str:
    """Read a file of SQL; raises OSError, or ValueError where it is too large or no UTF-8."""
    if path.stat().st_size > MAX_QUERY:
        raise ValueError(f"it has more than {MAX_QUERY} bytes")
    return path.read_text(encoding="utf-8")
