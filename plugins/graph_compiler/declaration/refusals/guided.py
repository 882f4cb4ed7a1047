"""Refuse a name that a stream or an environment does not have with the call that is meant.

orders.groupBy("country")   →   after 'orders': a stream has no 'groupBy': that is PySpark's
                                  hint: `key_by("country").aggregate(n="count(*)", total="sum(amount)")`

While a module is loaded, the use of such a name is noted, and the rest of the module is checked. Otherwise it raises
AttributeError with the hint, as any unknown name does, so `hasattr` says what is there. Names that begin with `_` are
asked for by `copy`, `pickle` and debuggers; they are never answered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from graph_compiler.declaration.refusals.collected import Unused, is_collecting
from graph_compiler.errors import InvalidPipelineError
from graph_compiler.identifiers import shown

_COLUMNS = (
    'columns are named in expressions: `select("id", "country")`, `filter("amount > 10")`, '
    '`with_columns(twice="amount * 2")`'
)


class Guided:
    """The base class of what the fluent API returns, and of environments."""

    _noun: ClassVar[str]
    """What it is called in messages."""
    _for_streams: ClassVar[str]
    """Where to make a call that other streams have."""

    # Type checkers report unknown names themselves.
    if not TYPE_CHECKING:
        __iter__ = None  # otherwise __getitem__ would make it iterable, without an end

        def __getattr__(self, name):
            kind = type(self)
            found = None if name.startswith("_") or hasattr(kind, name) else _meant(kind, name)
            if found is None:
                missing = f"'{kind.__name__}' object has no attribute '{name}'"
                raise AttributeError(missing, name=name, obj=self)
            words, hint = found
            if not is_collecting():
                # without `obj`, Python adds no suggestion by spelling
                raise AttributeError(f"{words}\n  hint: {hint}", name=name)
            return self._unused(words, hint, is_stream=not name.startswith("write"))

        def __getitem__(self, key):
            words = f"{self._noun} has no columns to index: found [{_shown(key)}]"
            return self._indexed(words)[key]

        def __setitem__(self, key, value):
            self._indexed(f"{self._noun} never changes: found [{_shown(key)}] = …")[key] = value

        def _indexed(self, words):
            if not is_collecting():
                raise TypeError(f"{words}\n  hint: {_COLUMNS}")
            return self._unused(words, _COLUMNS)

        def _unused(self, words, hint, *, is_stream=True):
            try:
                self.refuse(words, hint=hint)
            except InvalidPipelineError as error:
                return Unused(error.problems, self.environment, is_stream=is_stream)


def _meant(kind: type[Guided], name: str) -> tuple[str, str] | None:
    """Return why a class has no such name, and a hint with the call that is meant; None for an unknown name."""
    # Imported when needed: a driver has no use for the table.
    from graph_compiler.declaration.refusals.foreign_names import foreign_name, without_style

    words, wanted = f"{kind._noun} has no '{name}'", without_style(name)
    own = {without_style(call): call for call in _calls(kind)}
    if wanted in own:
        return words, f"did you mean '{own[wanted]}'?"
    others = {call for other in _kinds(Guided) if hasattr(other, "select") for call in _calls(other)}
    is_environment = hasattr(kind, "from_source")
    foreign = foreign_name(name, of_environment=is_environment)
    if foreign is None and is_environment:
        foreign = foreign_name(name)
    if foreign is None:
        return (words, kind._for_streams) if wanted in map(without_style, others) else None
    first = re.match(r"\w+(?=\()", foreign.code[0]) if foreign.code else None
    is_elsewhere = first is not None and first[0] in others and not hasattr(kind, first[0])
    hint = f"{kind._for_streams}; {foreign.hint}" if is_elsewhere else foreign.hint
    return f"{words}: that is {foreign.whose}", hint


def _shown(key: object) -> str:
    names = key if isinstance(key, list) else [key]
    return shown(key) if all(isinstance(name, str | int) for name in names) else "…"


def _calls(kind: type) -> list[str]:
    return [name for name in dir(kind) if not name.startswith("_")]


def _kinds(kind: type[Guided]) -> Iterator[type[Guided]]:
    for below in kind.__subclasses__():
        yield below
        yield from _kinds(below)
