"""A driver that is killed, or sleeps, at a function."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest


class DiedError(BaseException):
    """The driver is killed here."""


def dying() -> AbstractContextManager[object]:
    """Expect that the driver is killed."""
    return pytest.raises(DiedError)


def die(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, *, after: bool = False) -> None:
    """Kill the driver before or after the next call of a function."""
    call = getattr(owner, name)

    def dies(*arguments: Any, **named: Any) -> None:
        monkeypatch.setattr(owner, name, call)
        if after:
            call(*arguments, **named)
        raise DiedError

    monkeypatch.setattr(owner, name, dies)


def sleeping(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, does: Callable[[], object]) -> None:
    """Do something before the next call of a function: the driver has slept there."""
    call = getattr(owner, name)

    def slept(*arguments: Any, **named: Any) -> Any:
        monkeypatch.setattr(owner, name, call)
        does()
        return call(*arguments, **named)

    monkeypatch.setattr(owner, name, slept)
