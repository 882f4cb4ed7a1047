"""A check and its finding.

Checks are independent of each other. One that crashes is itself a finding, and the others still run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

Seen = TypeVar("Seen")


class State(StrEnum):
    """The result of a check: a warning may cause a failure, `failed` will."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What was found, and how to fix it in one sentence, None where there is nothing to fix."""

    state: State
    found: str
    cure: str | None = None


@dataclass(frozen=True, slots=True)
class Check(Generic[Seen]):
    """A named question; `look` answers it from what was `seen`."""

    name: str
    look: Callable[[Seen], Finding]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A check's name and its finding."""

    name: str
    finding: Finding


def ok(found: str) -> Finding:
    """Return a finding without a problem."""
    return Finding(state=State.OK, found=found)


def warning(found: str, cure: str) -> Finding:
    """Return a finding that may cause a failure."""
    return Finding(state=State.WARNING, found=found, cure=cure)


def failed(found: str, cure: str) -> Finding:
    """Return a finding that will cause a failure."""
    return Finding(state=State.FAILED, found=found, cure=cure)


def carry_out_checks(checks: Iterable[Check[Seen]], seen: Seen) -> tuple[Answer, ...]:
    """Carry out each check, in order."""
    return tuple(Answer(name=check.name, finding=_look(check, seen)) for check in checks)


def _look(check: Check[Seen], seen: Seen) -> Finding:
    try:
        return check.look(seen)
    except Exception as error:  # one crash must not hide the other checks
        return failed(
            f"the check itself failed: {type(error).__name__}: {error}",
            "please report this line: it is a bug in graph_compiler",
        )
