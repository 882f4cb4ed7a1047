"""Compare what executions did with the model: the part of a sink's machine that draws nothing.

begin → finish        an execution's halves; `attempt` is both
holds                 the target has the rows of one of the right states
end_well              faults are lifted: unfinished executions finish, and one more run succeeds
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Protocol

from tests.machine.execution import Execution, Request
from tests.machine.faults import Fate, Fault
from tests.machine.model import OTHERS, OWN_PARTITION, Row, State, Written, distinct
from tests.machine.seam import apart
from tests.machine.tally import TALLY
from tests.machine.verdict import why_not_clear

_NOTHING_ELSE = nullcontext()


class SinkWorld(Protocol):
    """A target and its readers."""

    @property
    def name(self) -> str:
        """Return the name of the kind of world, for the tally."""

    def request(self, written: Written, settings: Mapping[str, Any]) -> Request:
        """Return what an execution writes."""

    def execution(self, request: Request, fate: Fate) -> Execution:
        """Return the next execution."""

    def oddities(self, written: Written, settings: Mapping[str, Any]) -> list[str]:
        """Return what is unusual about a write: it may be refused for that, until it was accepted once."""

    def after(self, state: State, written: Written) -> list[State]:
        """Return the states that are right once this has been published."""

    def adds_nothing(self, state: State, written: Written) -> bool:
        """Whether an execution does not change the target, since its run has published before."""

    def as_seen(self, row: Row) -> Row:
        """Return a row as a reader sees it."""

    def seen(self) -> Counter[Row]:
        """Count the rows in the target, without Spark."""

    def seen_by_spark(self) -> Counter[Row]:
        """Count the rows in the target by reading it with Spark."""

    def what_else_changed(self) -> str | None:
        """Return what has changed although no execution may change it."""

    def end(self) -> None:
        """Remove everything."""


@dataclass
class Pending:
    """An execution in progress, and what happened since it began."""

    execution: Execution
    written: Written
    settings: Mapping[str, Any]
    odd: frozenset[str]
    adds_nothing: bool
    published_since: set[str] = field(default_factory=set)
    may_be_late: bool = False
    others_came: list[Row] = field(default_factory=list)
    is_publishing: bool = False
    was_overtaken: bool = False

    @property
    def trace(self) -> str:
        """List the calls it made."""
        return "\n".join(["calls:", *(f"  {line}" for line in self.execution.fate.trace[-60:])])


@dataclass
class Judgment:
    """A world, the states that are right, and executions that have begun."""

    world: SinkWorld
    values: tuple[str | None, ...]
    states: list[State] = field(default_factory=lambda: [State()])
    is_settled: bool = True
    pending: list[Pending] = field(default_factory=list)
    numbers: itertools.count[int] = field(default_factory=itertools.count)
    accepted: set[tuple[str, str]] = field(default_factory=set)
    unfinished: dict[str, dict[str, Any]] = field(default_factory=dict)
    found: AssertionError | None = None

    def attempt(self, fault: Fault | None = None, **settings: Any) -> None:
        """Begin an execution, and finish it."""
        pending = self.begin(fault, **settings)
        if pending.execution.error is None:
            self.finish(pending)

    def begin(self, fault: Fault | None = None, **settings: Any) -> Pending:
        """Let an execution of a run prepare rows, given as (id, index of a value)."""
        rows = tuple((id, self.values[value], next(self.numbers)) for id, value in settings["rows"])
        mode = settings["mode"]
        own = (self.values[settings.get("own", 0)],) if mode == OWN_PARTITION else ()
        keys = tuple(settings.get("keys", ())) if mode == "merge" else ()
        written = Written(
            run=settings["run"],
            mode="overwrite-partitions" if own else mode,
            rows=rows,
            keys=keys,
            sink=(settings.get("plan", "plan"), settings.get("operator", "a")),
            own=own,
        )
        fate = Fate(fault)
        execution = self.world.execution(self.world.request(written, settings), fate)
        odd = frozenset(self.world.oddities(written, settings))
        adds_nothing = any(self.world.adds_nothing(state, written) for state in self.states)
        pending = Pending(execution, written, settings, odd, adds_nothing)
        fate.meanwhile = lambda: self._overtake(pending)
        TALLY.steps += 1
        TALLY.tried[self.world.name, mode, fault.kind if fault else "none"] += 1
        self.unfinished[written.run] = settings
        execution.begin()
        if execution.error is not None:
            self._judge(pending)
        return pending

    def finish(self, pending: Pending, meanwhile: AbstractContextManager[None] = _NOTHING_ELSE) -> None:
        """Let an execution publish; `meanwhile` is over before the target is read."""
        pending.is_publishing = True
        with meanwhile:
            pending.execution.finish()
        self._judge(pending)

    def others_put(self, row: Row) -> None:
        """Add a row that others have put into the target to the model."""
        self.states = [state.with_rows(OTHERS, [row]) for state in self.states]
        for pending in self.pending:
            pending.others_came.append(row)

    def holds(self, trace: str = "") -> None:
        """Compare the target with the model, and keep the states that match."""
        changed = self.world.what_else_changed()
        assert changed is None, f"{changed}\n{trace}"
        seen = self.world.seen()
        expected = [state.all_rows(self.world.as_seen) for state in self.states]
        if not self.is_settled:
            least = reduce(lambda one, other: one & other, expected)
            most = reduce(lambda one, other: one | other, expected)
            assert not least - seen, f"lost, if only for a while: {dict(least - seen)}\n{trace}"
            assert not seen - most, f"nobody's rows: {dict(seen - most)}\n{trace}"
            return
        right = [s for s, rows in zip(self.states, expected, strict=True) if rows == seen]
        assert right, f"{_difference(seen, expected)}\n{trace}"
        self.states = right

    def end_well(self) -> None:
        """Lift all faults: unfinished executions finish, and one more run succeeds."""
        while self.pending:
            self.finish(self.pending.pop(0))
        for settings in list(self.unfinished.values()):
            self.attempt(**settings)
        self.attempt(run="run 9", mode="append", rows=[(0, 0)])
        if not self.is_settled:
            return  # it was refused as what it is, before and now
        self.holds()
        seen, by_spark = self.world.seen(), self.world.seen_by_spark()
        assert seen == by_spark, f"Spark sees {dict(by_spark)}, and there is {dict(seen)}"

    def _overtake(self, pending: Pending) -> None:
        """Let another run append during a call of this execution."""
        self.pending.append(pending)
        if pending.is_publishing:  # it may have decided by now, or not
            pending.was_overtaken, self.is_settled = True, False
            self.states = distinct([*self.states, *self._after(pending.written)])
        with apart():
            try:
                self.attempt(run="run 4", mode="append", rows=[(3, 0)])
            except AssertionError as found:  # the one that is overtaken would take it for its own
                self.found = self.found or found
        self.pending.remove(pending)

    def _after(self, written: Written) -> list[State]:
        return [after for state in self.states for after in self.world.after(state, written)]

    def _judge(self, pending: Pending) -> None:
        if self.found is not None:
            raise self.found
        execution, written = pending.execution, pending.written
        fate = execution.fate
        if fate.has_struck and fate.fault is not None:
            TALLY.struck[fate.fault.call, fate.fault.kind] += 1
        if execution.error is None:
            self._succeeded(pending)
            return
        words = why_not_clear(execution)
        assert words is None, f"{written} {words}\n{pending.trace}"
        if not fate.has_struck:
            self._refused(pending)
            return
        after = [] if written.run in pending.published_since else self._after(written)
        self.states, self.is_settled = distinct([*self.states, *after]), False
        for other in self.pending:
            other.may_be_late = True

    def _refused(self, pending: Pending) -> None:
        written, error = pending.written, pending.execution.error
        kind = type(error).__name__
        TALLY.refusals[f"{written.mode}: {kind}: {str(error).splitlines()[0][:160]}"] += 1
        assert self._may_refuse(pending), f"{written} was refused: {kind}: {error}\n{pending.trace}"
        self._settled(pending)

    def _may_refuse(self, pending: Pending) -> bool:
        written = pending.written
        return bool(
            {(written.mode, odd) for odd in pending.odd} - self.accepted
            or pending.published_since
            or pending.may_be_late
            or pending.others_came
            or (written.mode == "merge" and written.has_unusable_keys)
            or written.has_rows_of_others
            or (written.mode == "error-if-exists" and self._may_hold_others(written.run))
            or any(state.is_of_another_sink(written) for state in self.states)
        )

    def _may_hold_others(self, run: str) -> bool:
        return any(state.files - {run} for state in self.states)

    def _succeeded(self, pending: Pending) -> None:
        execution, written = pending.execution, pending.written
        assert written.run not in pending.published_since or pending.adds_nothing, (
            f"{written} was published behind a later attempt of its run\n{pending.trace}"
        )
        assert not (written.mode == "merge" and written.has_unusable_keys), (
            f"{written} has unusable keys, and was published"
        )
        assert not written.has_rows_of_others, f"{written} has rows of another partition, and was published"
        if written.mode == "error-if-exists" and not pending.was_overtaken:
            came = set(pending.others_came)
            self.states = [one for one in self.states if not one.holds_others(written.run, came)]
            assert self.states, f"{written} was published over rows of others\n{pending.trace}"
        self.states = [one for one in self.states if not one.is_of_another_sink(written)]
        assert self.states, f"{written}: another sink of its run has written the target, too"
        assert execution.rows == len(written.rows) or pending.adds_nothing, (
            f"{written}: {execution.rows} rows were counted\n{pending.trace}"
        )
        states = self._after(written)
        if pending.was_overtaken:  # and had decided before that
            states += [state for state in self.states if state.has(written)]
        if written.mode != "append":
            for row in pending.others_came:
                without = [state.without([row]) for state in states]
                states = distinct([*without, *(one.with_rows(OTHERS, [row]) for one in without)])
        self.states, self.is_settled = distinct(states), True
        self.accepted |= {(written.mode, odd) for odd in pending.odd}
        for other in self.pending:
            other.published_since.add(written.run)
        self._settled(pending)
        self.holds(pending.trace)

    def _settled(self, pending: Pending) -> None:
        if self.unfinished.get(pending.written.run) is pending.settings:
            del self.unfinished[pending.written.run]


def _difference(seen: Counter[Row], expected: list[Counter[Row]]) -> str:
    lines = []
    for rows in expected:
        lost, more = rows - seen, seen - rows
        lines.append(f"lost {dict(lost)}, too many {dict(more)}")
    return " or ".join(lines)
