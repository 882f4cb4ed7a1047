"""By which code an execution computed its rows, as its driver saw it, and how that differs from the code of another.

A driver records it, and a later try compares it before it keeps a region. It is in no fingerprint and no plan id: the
processes that parse a Dag, and the drivers of its tasks, may have different installations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from graph_compiler.extensions import UNSAID
from graph_compiler.identifiers import counted

_SHOWN = 3
"""How many differences a message names."""
NOT_RECORDED = "an earlier version of graph_compiler computed it, which did not record with which code"


class PartKind(StrEnum):
    """What a part of the code is."""

    PROGRAM = "program"
    """Python, Spark and Java, by version."""
    OWN = "own"
    """The driver's half of graph_compiler, by digest."""
    JARS = "jars"
    """The names of the jars that the driver started with, by digest."""
    SETTING = "setting"
    """A setting of Spark's SQL; its value is the version."""
    MODULE = "module"
    """The files that functions and operators of other packages reach below a top-level name, by digest."""
    PACKAGE = "package"
    """An installed distribution that these use, by version and a digest of its list of files."""
    EXECUTORS = "executors"
    """Python, or such a distribution, on executors of other hosts: all versions that these have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodePart:
    """A part of the code. One without a version has a digest."""

    kind: PartKind
    name: str
    version: str = field(default="", metadata={UNSAID: True})
    digest: str = field(default="", metadata={UNSAID: True})


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputedBy:
    """All parts of the code that computes a region. `unknown`: why it cannot be compared, None if it can."""

    parts: tuple[CodePart, ...]
    unknown: str | None = field(default=None, metadata={UNSAID: True})


def why_other_code(before: ComputedBy | None, now: ComputedBy) -> str | None:
    """Return why what was computed before was not computed by the code that runs now; None if it was."""
    if before is None:
        return NOT_RECORDED
    if before.unknown is not None or now.unknown is not None:
        return before.unknown or now.unknown
    differences = list(_differences(before, now))
    more = len(differences) - _SHOWN
    others = [f"and {counted(more, 'other difference')}"] if more > 0 else []
    return "; ".join([*differences[:_SHOWN], *others]) or None


def _differences(before: ComputedBy, now: ComputedBy) -> Iterator[str]:
    old = {(part.kind, part.name): part for part in before.parts}
    new = {(part.kind, part.name): part for part in now.parts}
    for key in dict.fromkeys([*old, *new]):
        if old.get(key) != new.get(key):
            yield _words(*key, old.get(key), new.get(key))


def _words(kind: PartKind, name: str, before: CodePart | None, now: CodePart | None) -> str:
    old, new = _version(before), _version(now)
    package = f"{name} {old} computed it, now {new} is installed"
    if before is None:
        package = f"{name} {new} is used now, and was not"
    elif now is None:
        package = f"{name} {old} computed it, and is not used now"
    elif old == new:
        package = f"another build of {name} {old} computed it"
    return {
        PartKind.PROGRAM: f"{name} {old} computed it, now {name} {new} runs",
        PartKind.OWN: "graph_compiler itself has changed since",
        PartKind.JARS: "Spark's driver started with other jars",
        PartKind.SETTING: f"{name} was {old}, and is {new} now",
        PartKind.MODULE: f"the code of module '{name}' has changed since",
        PartKind.PACKAGE: package,
        PartKind.EXECUTORS: f"executors with {name} {old} computed it, now they have {name} {new}",
    }[kind]


def _version(part: CodePart | None) -> str:
    return "not set" if part is None else part.version or "''"
