"""Note refused calls while a module is loaded, in place of raising for the first of them.

with collecting_refusals() as problems:
orders = env.from_source(Csv("/in", nullvalue="NA"), "orders")   →   Refused; its problem is in `problems`
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from graph_compiler.errors import Problem

_COLLECTED: ContextVar[list[Problem] | None] = ContextVar("collected", default=None)


class Refused:
    """What a refused call gives while refusals are collected: all may be called on it, and every call takes it."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self._problems = tuple(problems)

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
    """Let refused calls note their problems here in place of raising."""
    found: list[Problem] = []
    token = _COLLECTED.set(found)
    try:
        yield found
    finally:
        _COLLECTED.reset(token)


def is_collecting() -> bool:
    """Whether refused calls are noted."""
    return _COLLECTED.get() is not None


def note(problems: Iterable[Problem]) -> Refused:
    """Note problems, each once, and return what stands for the call they are of."""
    refused = Refused(problems)
    collected = _COLLECTED.get()
    assert collected is not None, "refusals are collected"
    add_new(collected, refused)
    return refused


def add_new(known: list[Problem], refused: Refused) -> None:
    """Add the problems of a refused call that are not known."""
    known.extend(problem for problem in problems_of(refused) if problem not in known)


def problems_of(refused: Refused) -> tuple[Problem, ...]:
    """Return why a call was refused: every name of the value itself stands for a call."""
    return refused._problems


def refused_among(arguments: Iterable[object], named: Mapping[str, object]) -> Refused | None:
    """Return what a call was given in place of refused calls' values, in lists and mappings, too; None without any."""
    found = [
        problem
        for argument in (*arguments, *named.values())
        for value in _values(argument)
        if isinstance(value, Refused)
        for problem in problems_of(value)
    ]
    return Refused(dict.fromkeys(found)) if found else None


def _values(argument: object) -> Iterable[object]:
    if isinstance(argument, Mapping):
        return argument.values()
    return argument if isinstance(argument, list | tuple) else (argument,)
