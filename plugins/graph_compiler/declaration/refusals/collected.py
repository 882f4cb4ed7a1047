"""Note refused calls while a module is loaded, instead of raising for the first of them.

with collecting_refusals() as problems:
orders = env.from_source(Csv("/in", nullvalue="NA"), "orders")   →   Refused; its problem is in `problems`
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, Self

from graph_compiler.declaration.locations import caller_location
from graph_compiler.errors import InvalidPipelineError, Problem

_COLLECTED: ContextVar[list[Problem] | None] = ContextVar("collected", default=None)


_RETURN_ROWS = frozenset(
    {"csv", "jdbc", "json", "load", "orc", "parquet", "table", "text", "xml", "drop", "fill", "replace"}
)
"""Methods of PySpark's readers, and of `na`, that return a DataFrame."""


class Remembering(Protocol):
    """An environment: it keeps the refusals of its calls, because a module is imported once and may be read again."""

    name: str
    refused: list[Problem]


class Refused:
    """The result of a refused call while refusals are collected: any call on it, or with it, is accepted.

    `environment` is where it was declared, if that is known. In place of a stream, its names of other libraries are
    noted, too: a chain of calls is reported as a whole.
    """

    def __init__(
        self, problems: Iterable[Problem], environment: Remembering | None = None, *, is_stream: bool = True
    ) -> None:
        self._problems = tuple(problems)
        self._environment = environment
        self._is_stream = is_stream

    def __getattr__(self, name: str) -> Refused:
        """Return a value for any attribute; for a name of another library, one that notes its use."""
        if name.startswith("_"):
            raise AttributeError(name)
        # Imported when needed: a driver has no use for the table.
        from graph_compiler.declaration.refusals.foreign_names import foreign_name

        foreign = foreign_name(name) if self._is_stream else None
        if foreign is None:
            is_stream = self._is_stream or name in _RETURN_ROWS
            return Refused(self._problems, self._environment, is_stream=is_stream)
        problem = Problem(
            message=f"a stream has no '{name}': that is {foreign.whose}",
            hint=foreign.hint,
            declared_at=caller_location(),
        )
        # a writer's methods have names of streams, such as `replace`
        is_stream = not name.startswith("write")
        return Unused([problem], self._environment, is_stream=is_stream)

    def __call__(self, *_: object, **__: object) -> Refused:
        """Return itself."""
        return self

    def __getitem__(self, key: object) -> Refused:
        """Return a value in place of a column, or of rows."""
        return Refused(self._problems, self._environment, is_stream=not isinstance(key, str | int))

    def __setitem__(self, key: object, _: object) -> None:
        """Accept the value."""
        self[key]

    def __iter__(self) -> Iterator[Refused]:
        """Return no values: a loop over them is left out."""
        return iter(())

    def __len__(self) -> int:
        """Return 0."""
        return 0

    def __bool__(self) -> bool:
        """Return True, as for a stream."""
        return True

    def _same(self, *_: object) -> Self:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _same
    __lt__ = __le__ = __gt__ = __ge__ = __and__ = __rand__ = __or__ = __ror__ = __invert__ = __neg__ = _same


class Unused(Refused):
    """An attribute that only another library has: its problems are noted once it is called, or used otherwise."""

    def __getattr__(self, name: str) -> Refused:
        """Note the problems, and return a value for an attribute of readers, writers and the like."""
        if name.startswith("_"):
            raise AttributeError(name)
        self._note()
        return Refused(self._problems, self._environment, is_stream=name in _RETURN_ROWS)

    def __call__(self, *_: object, **__: object) -> Refused:
        """Note the problems, and return a value in place of a stream, or of a writer."""
        self._note()
        return Refused(self._problems, self._environment, is_stream=self._is_stream)

    def __getitem__(self, key: object) -> Refused:
        """Note the problems."""
        self._note()
        return super().__getitem__(key)

    def __iter__(self) -> Iterator[Refused]:
        """Note the problems."""
        self._note()
        return super().__iter__()

    def __len__(self) -> int:
        """Note the problems."""
        self._note()
        return 0

    def _note(self) -> None:
        if not is_collecting():
            name = "" if self._environment is None else self._environment.name
            raise InvalidPipelineError(name, self._problems)
        note(self._problems, self._environment)


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


def note(problems: Iterable[Problem], environment: Remembering | None = None) -> Refused:
    """Note problems, each once, also in their environment; return a value in place of the refused call's result."""
    refused = Refused(problems, environment)
    collected = _COLLECTED.get()
    assert collected is not None, "refusals are collected"
    add_new(collected, refused)
    if environment is not None:
        add_new(environment.refused, refused)
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
