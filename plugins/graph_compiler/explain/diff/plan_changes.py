"""The possible differences between two versions of a pipeline, as values; `plan_diff` finds them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile

from graph_compiler.deployment.documents.stream import Continuation, OperatorState
from graph_compiler.explain.diff.sink_columns import SinkColumn
from graph_compiler.explain.plan.plan import Facts
from graph_compiler.identifiers import IntermediateDataSetId, OperatorId, TaskName

_LONG = 100
_NAMED = re.compile(r"(columns|aggregates)\[\d+\]")
"""A name with its expression."""
_AROUND = 4


class OperatorChangeKind(StrEnum):
    """How an operator has changed: the first kind that applies."""

    ADDED = "ADDED"
    REMOVED = "REMOVED"
    CHANGED = "CHANGED"
    """It computes something different from its inputs."""
    AFFECTED = "AFFECTED"
    """It is unchanged, but its inputs, the session, or how strictly files are read, are not."""
    RENAMED = "RENAMED"
    MOVED = "MOVED"
    """It computes the same rows under a different id."""


class ResultChangeKind(StrEnum):
    """What happens to an already staged result."""

    REUSABLE = "REUSABLE"
    """Same id, same fingerprint."""
    MOVED = "MOVED"
    """Same fingerprint, different id: the rows are the same, but will not be found under the new id."""
    RECOMPUTED = "RECOMPUTED"
    ADDED = "ADDED"
    REMOVED = "REMOVED"


class TaskChangeKind(StrEnum):
    """How a task has changed; tasks are identified by id."""

    ADDED = "ADDED"
    REMOVED = "REMOVED"
    CHANGED = "CHANGED"


@dataclass(frozen=True, slots=True, kw_only=True)
class FactChange:
    """A setting that differs; None if it is not set."""

    fact: str
    before: str | None
    now: str | None

    def __str__(self) -> str:
        """Return it as one line; of long texts, only the difference, between « and », with a little context."""
        before, now = ("not set" if text is None else text for text in (self.before, self.now))
        if self.before and self.now and len(before) + len(now) > _LONG:
            before, now = _marked(before, now)
        return f"{self.fact}: {before} → {now}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorChange:
    """A changed operator; ids and names are None on the side where it does not exist."""

    kind: OperatorChangeKind
    name_before: str | None
    name: str | None
    id_before: OperatorId | None
    id: OperatorId | None
    facts: tuple[FactChange, ...] = ()
    columns: tuple[SinkColumn, ...] = ()
    """Of a sink: those that it gains, loses or gets with another type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultChange:
    """One staged result, changed or not."""

    kind: ResultChangeKind
    name: str
    id_before: IntermediateDataSetId | None
    id: IntermediateDataSetId | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskChange:
    """A changed task, and why, as text."""

    kind: TaskChangeKind
    task: TaskName
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamChange:
    """The stream of some sources, changed or not: how the new version continues its checkpoint, and which state."""

    sources: tuple[str, ...]
    continuation: Continuation
    why: str | None
    state: tuple[OperatorState, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanDiff:
    """All differences, and the staged results that are kept; `tasks_now` is the new number of tasks."""

    pipeline_before: str
    pipeline: str
    session: tuple[FactChange, ...]
    run: tuple[FactChange, ...]
    operators: tuple[OperatorChange, ...]
    results: tuple[ResultChange, ...]
    tasks: tuple[TaskChange, ...]
    tasks_now: int
    streams: tuple[StreamChange, ...]

    @property
    def is_empty(self) -> bool:
        """Whether both versions run the same work."""
        streams = any(each.continuation is not Continuation.CHECKPOINT for each in self.streams)
        changed = self.session or self.run or self.operators or self.tasks or streams
        return not changed and self.pipeline == self.pipeline_before


def fact_changes(before: Facts, now: Facts) -> tuple[FactChange, ...]:
    """Return the settings that differ, in their order; columns with expressions by their names."""
    old, new = dict(_by_name(before)), dict(_by_name(now))
    return tuple(
        FactChange(fact=fact, before=old.get(fact), now=new.get(fact))
        for fact in {**old, **new}
        if old.get(fact) != new.get(fact)
    )


def _by_name(facts: Facts) -> Iterator[tuple[str, str]]:
    """Yield `("columns.late", "delay > 5")` for `("columns[4]", "late, delay > 5")`."""
    for fact, value in facts:
        found = _NAMED.fullmatch(fact)
        name, comma, expression = value.partition(", ")
        yield (f"{found[1]}.{name}", expression) if found and comma else (fact, value)


def _marked(before: str, now: str) -> tuple[str, str]:
    """Mark the words that differ."""
    old, new = before.split(" "), now.split(" ")
    head = _alike(old, new)
    tail = _alike(old[head:][::-1], new[head:][::-1])
    return _part(old, head, tail), _part(new, head, tail)


def _alike(some: list[str], others: list[str]) -> int:
    """Return the number of equal words at the beginning."""
    pairs = zip(some, others, strict=False)
    return len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))


def _part(words: list[str], head: int, tail: int) -> str:
    """Mark the words between equal beginnings and ends, and leave out words that are far from them."""
    end = len(words) - tail
    before, after = words[max(0, head - _AROUND) : head], words[end : end + _AROUND]
    marked = " ".join([*before, f"«{' '.join(words[head:end])}»", *after])
    return f"{'… ' if head > _AROUND else ''}{marked}{' …' if tail > _AROUND else ''}"
