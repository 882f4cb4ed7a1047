"""A check, and what it found.

Checks know nothing of each other, and one that crashes is a finding itself: it hides none of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

Seen = TypeVar("Seen")


class State(StrEnum):
    """How well something is: a warning may do harm, a failure will."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What was found, and the cure in one sentence, None where there is nothing to cure."""

    state: State
    found: str
    cure: str | None = None


@dataclass(frozen=True, slots=True)
class Check(Generic[Seen]):
    """A question by its name; `look` answers it from what was seen."""

    name: str
    look: Callable[[Seen], Finding]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A check's name with its finding."""

    name: str
    finding: Finding


def ok(found: str) -> Finding:
    """Find nothing wrong."""
    return Finding(state=State.OK, found=found)


def warning(found: str, cure: str) -> Finding:
    """Find what may do harm."""
    return Finding(state=State.WARNING, found=found, cure=cure)


def failed(found: str, cure: str) -> Finding:
    """Find what will do harm."""
    return Finding(state=State.FAILED, found=found, cure=cure)


def carry_out(checks: Iterable[Check[Seen]], seen: Seen) -> tuple[Answer, ...]:
    """Answer each check, in order."""
    return tuple(Answer(name=check.name, finding=_look(check, seen)) for check in checks)


def _look(check: Check[Seen], seen: Seen) -> Finding:
    try:
        return check.look(seen)
    except Exception as error:  # whatever it is, the next check is to be heard
        return failed(
            f"the check itself failed: {type(error).__name__}: {error}",
            "please report this line: it is a bug in graph_compiler",
        )
