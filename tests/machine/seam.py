"""A layer between the driver's Python and the operating system: every call below a folder is counted, and may fail.

Functions of `os` are replaced while an execution runs, in its thread only. The product does not notice it; what the
JVM does to files is not seen here.
"""

from __future__ import annotations

import builtins
import ctypes
import io
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.machine.faults import Fate

_CALLS = {
    "rename": "rename",
    "replace": "rename",
    "link": "link",
    "symlink": "link",
    "unlink": "unlink",
    "remove": "unlink",
    "mkdir": "mkdir",
    "rmdir": "rmdir",
    "open": "open",
    "scandir": "list",
    "listdir": "list",
    "stat": "stat",
    "lstat": "stat",
    "fsync": "fsync",
}
_REAL = {name: getattr(os, name) for name in _CALLS}


class _Here(threading.local):
    """The fate of what this thread runs, if any."""

    fate: Fate | None = None
    folders: tuple[str, ...] = ()


_here = _Here()


@contextmanager
def meeting(fate: Fate, *folders: Path) -> Iterator[None]:
    """Apply a fate to every call of this thread on paths below the folders."""
    assert _here.fate is None, "one execution at a time in a thread"
    _here.fate, _here.folders = fate, tuple(map(str, folders))
    try:
        with _replaced():
            yield
    finally:
        _here.fate = None


@contextmanager
def apart() -> Iterator[None]:
    """Let this thread do something else in the middle of a call, without the caller's fate."""
    fate, folders = _here.fate, _here.folders
    _here.fate = None
    try:
        yield
    finally:
        _here.fate, _here.folders = fate, folders


@contextmanager
def _replaced() -> Iterator[None]:
    io_open, builtins_open, dll = io.open, builtins.open, ctypes.CDLL
    for name, call in _CALLS.items():
        setattr(os, name, _wrapped(call, _REAL[name]))
    opened = _wrapped("open", io_open)
    io.open = builtins.open = opened
    ctypes.CDLL = _Library  # type: ignore[misc, assignment]
    try:
        yield
    finally:
        for name, function in _REAL.items():
            setattr(os, name, function)
        io.open, builtins.open = io_open, builtins_open
        ctypes.CDLL = dll  # type: ignore[misc]


def _wrapped(call: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        fate = _here.fate
        if fate is None or not (call == "fsync" or _is_ours(args, kwargs)):
            return function(*args, **kwargs)
        return fate.call(call, _words(args), lambda: function(*args, **kwargs))

    return wrapper


def _is_ours(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    if kwargs.get("dir_fd") is not None:  # of `rmtree`, which only this thread's code calls
        return True
    first = args[0] if args else "."
    if isinstance(first, int):
        return False
    path = os.fsdecode(first)
    return path.startswith(_here.folders)


def _words(args: tuple[Any, ...]) -> str:
    paths = [os.fsdecode(arg) for arg in args[:2] if isinstance(arg, str | bytes | os.PathLike)]
    for folder in _here.folders:
        paths = [path.removeprefix(f"{folder}/") for path in paths]
    return " -> ".join(paths)


class _Library:
    """The C library, whose `renameat2` is a call like the others: an error is a code."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._library = _CDLL(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        function = getattr(self._library, name)
        fate = _here.fate
        if name != "renameat2" or fate is None:
            return function

        def renameat2(*args: Any) -> int:
            def do() -> int:
                return int(function(*args))

            try:
                return int(fate.call("exchange", os.fsdecode(args[3]), do))
            except OSError as error:
                ctypes.set_errno(error.errno or 0)
                return -1

        return renameat2


_CDLL = ctypes.CDLL
