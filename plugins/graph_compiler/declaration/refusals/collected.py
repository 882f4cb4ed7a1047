"""Note refused calls while a module is loaded, instead of raising for the first of them.

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
    """The result of a refused call while refusals are collected: any call on it, or with it, is accepted."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self._problems = tuple(problems)

    def __getattr__(self, name: str) -> Refused:
        """Return itself for any attribute."""
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_: object, **__: object) -> Refused:
        """Return itself."""
        return self


@contextmanager
def collecting_refusals() -> Iterator[list[Problem]]:
    """Let refused calls note their problems in the yielded list, instead of raising."""
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
    """Note problems, each once, and return a value in place of the refused call's result."""
    refused = Refused(problems)
    collected = _COLLECTED.get()
    assert collected is not None, "refusals are collected"
    add_new(collected, refused)
    return refused


def add_new(known: list[Problem], refused: Refused) -> None:
    """Add those problems of a refused call that are not in the list yet."""
    known.extend(problem for problem in problems_of(refused) if problem not in known)


def problems_of(refused: Refused) -> tuple[Problem, ...]:
    """Return why a call was refused: every attribute of the value itself is a `Refused`."""
    return refused._problems


def refused_among(arguments: Iterable[object], named: Mapping[str, object]) -> Refused | None:
    """Return the first result of a refused call among arguments, in lists and mappings, too; None if there is none."""
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
