"""What can differ between two versions of a pipeline. Values only; `plan_diff` finds them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from graph_compiler.explain.diff.plan_summary import Facts
from graph_compiler.identifiers import IntermediateDataSetId, OperatorId, RegionId


class OperatorChangeKind(StrEnum):
    """What became of an operator; the first that is true of it."""

    ADDED = "ADDED"
    REMOVED = "REMOVED"
    CHANGED = "CHANGED"
    """It makes something else of what it reads."""
    AFFECTED = "AFFECTED"
    """It is the same, and what it reads, or the session, is not."""
    RENAMED = "RENAMED"
    MOVED = "MOVED"
    """It computes the same rows under another id."""


class ResultChangeKind(StrEnum):
    """What becomes of a result that is staged already."""

    REUSABLE = "REUSABLE"
    """Same id, same fingerprint."""
    MOVED = "MOVED"
    """Same fingerprint, another id: the rows are the same, and nobody will look for them there."""
    RECOMPUTED = "RECOMPUTED"
    ADDED = "ADDED"
    REMOVED = "REMOVED"


class TaskChangeKind(StrEnum):
    """What becomes of a task, which is known by its id."""

    ADDED = "ADDED"
    REMOVED = "REMOVED"
    CHANGED = "CHANGED"


@dataclass(frozen=True, slots=True, kw_only=True)
class FactChange:
    """One thing that is set otherwise; None where it is not set."""

    fact: str
    before: str | None
    now: str | None

    def __str__(self) -> str:
        """Write it as one line."""
        before, now = ("not set" if text is None else text for text in (self.before, self.now))
        return f"{self.fact}: {before} → {now}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorChange:
    """One operator that is not as it was; ids and names are None on the side where it is not."""

    kind: OperatorChangeKind
    name_before: str | None
    name: str | None
    id_before: OperatorId | None
    id: OperatorId | None
    facts: tuple[FactChange, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultChange:
    """One staged result, changed or not."""

    kind: ResultChangeKind
    name: str
    id_before: IntermediateDataSetId | None
    id: IntermediateDataSetId | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskChange:
    """One task that is not as it was, and why, in words."""

    kind: TaskChangeKind
    task: RegionId
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanDiff:
    """All that differs, and the staged results that stay; `tasks_now` is how many tasks there are."""

    pipeline_before: str
    pipeline: str
    session: tuple[FactChange, ...]
    run: tuple[FactChange, ...]
    operators: tuple[OperatorChange, ...]
    results: tuple[ResultChange, ...]
    tasks: tuple[TaskChange, ...]
    tasks_now: int

    @property
    def is_empty(self) -> bool:
        """Whether both versions are the same to anyone who runs them."""
        changed = self.session or self.run or self.operators or self.tasks
        return not changed and self.pipeline == self.pipeline_before


def fact_changes(before: Facts, now: Facts) -> tuple[FactChange, ...]:
    """Return what is set otherwise, in the order it is set in."""
    old, new = dict(before), dict(now)
    return tuple(
        FactChange(fact=fact, before=old.get(fact), now=new.get(fact))
        for fact in {**old, **new}
        if old.get(fact) != new.get(fact)
    )
