"""Connectors and operators of a test, registered like those of an installed package."""

from importlib.metadata import EntryPoint

import pytest

from graph_compiler import extensions
from graph_compiler.extensions import Extensible, reference


def register(monkeypatch: pytest.MonkeyPatch, *kinds: type[Extensible]) -> None:
    """Let documents name these kinds, and no other package's, until the test ends."""

    def registered(group: str) -> tuple[EntryPoint, ...]:
        return tuple(
            EntryPoint(name=kind.__name__.lower(), value=reference(kind), group=group)
            for kind in kinds
            if kind.entry_points == group
        )

    monkeypatch.setattr(extensions, "_registered", registered)
