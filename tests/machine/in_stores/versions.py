"""The versions of a target in a store: what the ledger's decisions mean, and what readers may see.

While a decided publication is not finished, readers see all rows of the old version or all of the new one, and no
others (docs/sinks.md). Otherwise they see exactly one version.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from tests.machine.in_stores.execution import Execution
from tests.machine.model import OTHERS, Row, State, distinct, in_a_folder


@dataclass
class Versions:
    """What is right before and after the last decided publication; `is_open`: it is not finished."""

    before: list[State] = field(default_factory=lambda: [State()])
    after: list[State] = field(default_factory=lambda: [State()])
    decided: list[Execution] = field(default_factory=list)
    is_open: bool = False

    def add(self, row: Row) -> None:
        """Add a row of others to both versions."""
        self.before, self.after = (
            [state.with_rows(OTHERS, [row]) for state in states] for states in (self.before, self.after)
        )

    def may_hold_others(self, run: str) -> bool:
        """Whether there may be files of other writers than a run."""
        return any(state.files - {run} for state in (*self.before, *self.after))

    def decide(self, execution: Execution, number: int) -> None:
        """Take note of a decision: it must be the next one, and no later attempt of its run may be before it."""
        written = execution.written
        words = f"{written} was decided as number {number}"
        assert not self.is_open, f"{words} while another one was open\n{execution.trace}"
        assert number == len(self.decided), f"{words} after {len(self.decided)}\n{execution.trace}"
        assert execution.number is None, f"{words}, and was before\n{execution.trace}"
        others = [one for one in execution.overtaken_by if not one.is_given_up]
        assert written.run not in {one.written.run for one in others}, (
            f"{words} behind a later attempt of its run\n{execution.trace}"
        )
        if written.mode == "error-if-exists":
            came = set(execution.others_came)
            self.after = [one for one in self.after if not one.holds_others(written.run, came)]
            assert self.after, f"{words} over rows of others\n{execution.trace}"
        states = [after for state in self.after for after in in_a_folder(state, written)]
        for row in execution.others_came if written.mode != "append" else ():
            without = [state.without([row]) for state in states]
            states = [*without, *(one.with_rows(OTHERS, [row]) for one in without)]
        execution.number = number
        self.decided.append(execution)
        self.before, self.after, self.is_open = self.after, distinct(states), True

    def finish(self, number: int, *, is_given_up: bool) -> None:
        """Take note of an end; only a publication whose files may have been removed is given up."""
        assert number == len(self.decided) - 1, f"the end of {number} ends nothing"
        last = self.decided[-1]
        if is_given_up:
            assert last.may_be_given_up, (
                f"{last.written} was decided, and given up, though nobody removed its files\n{last.trace}"
            )
            self.after, last.is_given_up = self.before, True
        self.is_open, self.before = False, self.after

    def check(self, seen: Counter[Row], when: str) -> None:
        """Compare what readers see with what they may see."""
        if not self.is_open:
            right = [one for one in self.after if _rows(one) == seen]
            assert right, f"{when}: {_difference(seen, self.after)}"
            self.before = self.after = right
            return
        is_merge = self.decided[-1].written.mode == "merge"
        assert any(
            _may_see(_rows(old), _rows(new), seen, is_merge=is_merge) for old in self.before for new in self.after
        ), f"{when}: {_difference(seen, [*self.before, *self.after])}\n{self.decided[-1].trace}"


def _difference(seen: Counter[Row], states: list[State]) -> str:
    return " or ".join(f"lost {dict(_rows(one) - seen)}, too many {dict(seen - _rows(one))}" for one in states)


def _rows(state: State) -> Counter[Row]:
    return state.all_rows(lambda row: row)


def _may_see(old: Counter[Row], new: Counter[Row], seen: Counter[Row], *, is_merge: bool) -> bool:
    """Whether readers see all rows of one version, and no other rows; those that a merge copies are there twice."""
    most = old + new if is_merge else old | new
    return (not old - seen or not new - seen) and not seen - most
