"""What a YAML file refers to by a user's name: functions and models of modules, and other files of the project."""

from __future__ import annotations

import os
import re
import stat
import sys
import traceback
from collections.abc import Callable
from importlib import import_module
from inspect import isclass, isfunction
from pathlib import Path
from types import ModuleType
from typing import Any

from graph_compiler.declaration.parameters.parameter import is_model
from graph_compiler.errors import FunctionNotImportableError
from graph_compiler.identifiers import PIPELINES, did_you_mean

MAX_QUERY = 1_000_000
_REFERENCE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")


def find_function(reference: str) -> Callable[..., object]:
    """Import `module:function`; raises FunctionNotImportableError, whatever the module itself raises.

    An object of the module that can be called is a function, too: a notifier of Airflow.
    """
    function: Callable[..., object] = _find(reference, "function", callable, _is_function)
    return function


def name_of(function: object) -> str | None:
    """Return the `module:name` under which an imported module has an object, None if none has.

    A function has a module of its own. An object that can be called does not know where it is.
    """
    own = f"{getattr(function, '__module__', '')}:{getattr(function, '__qualname__', '')}"
    loaded = [(key, module) for key, module in sys.modules.items() if _has_names(key, module)]
    named = (
        f"{key}:{name}"
        for key, module in sorted(loaded, key=lambda each: each[0])
        for name, value in list(vars(module).items())
        if value is function
    )
    for reference in (own, *(() if isfunction(function) else named)):
        try:
            if find_function(reference) is function:
                return str(reference)
        except FunctionNotImportableError:
            continue
    return None


def _has_names(key: str, module: object) -> bool:
    return key != "__main__" and isinstance(module, ModuleType)


def _is_function(value: object) -> bool:
    return callable(value) and not isclass(value)


def find_model(reference: str) -> type[Any]:
    """Import `module:Model`, a pydantic model; raises FunctionNotImportableError as above."""
    model: type[Any] = _find(reference, "pydantic model", is_model, is_model)
    return model


def _find(reference: str, noun: str, is_allowed: Callable[[object], bool], is_meant: Callable[[object], bool]) -> Any:
    if _REFERENCE.fullmatch(reference) is None:
        raise FunctionNotImportableError(f"is {reference!r}")
    module_name, _, name = reference.partition(":")
    try:
        module = import_module(module_name)
    except (Exception, SystemExit) as error:  # a user's module may raise any exception
        frames = traceback.extract_tb(error.__traceback__)
        where = f" ({frames[-1].filename}:{frames[-1].lineno})" if _is_of(module_name, error) else ""
        raise FunctionNotImportableError(
            f"cannot import {module_name}: {type(error).__name__}: {error}{where}"
        ) from None
    found = getattr(module, name, None)
    if not is_allowed(found):
        known = [key for key, value in vars(module).items() if is_meant(value)]
        raise FunctionNotImportableError(f"{module_name} has no {noun} '{name}'", hint=did_you_mean(name, known))
    return found


def _is_of(module: str, error: BaseException) -> bool:
    """Whether it was raised in the module's own code, and not while searching for the module."""
    names = [frame.f_globals.get("__name__") for frame, _ in traceback.walk_tb(error.__traceback__)]
    return module in names and not str(names[-1]).startswith("importlib")


def read_file_bytes(path: Path, *, most: int) -> bytes:
    """Return a file's content; raises OSError, and ValueError for a special or oversized file.

    A FIFO or a device does not block.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):  # opening a device may have side effects
        raise ValueError("it is not a regular file")
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"it has more than {most} bytes")
    return content


def file_below(folder: Path, name: str) -> Path:
    """Return the path for a name in a file of declarations; raises ValueError if it is in another place.

    It must be in the folder of that file, or anywhere in its pipelines folder, after following links.
    """
    if name.startswith("~") or Path(name).is_absolute():
        raise ValueError("it is not a relative path")
    here = Path(os.path.realpath(folder))
    home = next((one for one in reversed((here, *here.parents)) if one.name == PIPELINES), here)
    found = Path(os.path.realpath(here / name))
    if not found.is_relative_to(home):
        raise ValueError(f"it is outside {home}")
    return found


def read_query(folder: Path, name: str) -> str:
    """Read a file of SQL by its path from a folder; raises OSError, or ValueError if it may not be read.

    That is: a file in another place, of another kind, too large, or not in UTF-8.
    """
    return read_file_bytes(file_below(folder, name), most=MAX_QUERY).decode("utf-8")
