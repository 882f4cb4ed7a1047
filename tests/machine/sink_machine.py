"""Hypothesis's state machine of one sink's target: rules that draw, and a judgment that compares."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from pyspark.sql import SparkSession

from tests.machine.alphabet import drawn
from tests.machine.faults import Fault
from tests.machine.judgment import Judgment

RUNS = st.sampled_from(["run 1", "run 2", "run 3"])
ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=3)
KEYS = st.sampled_from([("id",), ("part",), ("id", "part")])
PLANS = st.sampled_from(["plan", "plan", "other plan"])
OPERATORS = drawn("operator", ("a", "a", "a", "b"))


def faults(kinds: tuple[str, ...], calls: tuple[str, ...], last: int) -> st.SearchStrategy[Fault | None]:
    """Draw no fault, or one at a call up to the last, early ones more often."""
    nth = st.one_of(st.integers(0, 3), st.integers(0, last))
    fault = st.builds(Fault, drawn("fault", kinds), drawn("call", calls), nth)
    return st.one_of(st.none(), fault)


class SinkMachine(RuleBasedStateMachine):
    """What the machines of all worlds share; each starts its own world."""

    session: ClassVar[Callable[[], SparkSession]]

    def __init__(self) -> None:
        super().__init__()
        self._judgment: Judgment | None = None

    @property
    def judgment(self) -> Judgment:
        """Return the world with its model, once it has begun."""
        assert self._judgment is not None
        return self._judgment

    @rule(which=st.integers(0, 1))
    @precondition(lambda self: self._judgment is not None and self.judgment.pending)
    def wake(self, which: int) -> None:
        """Let an execution that has prepared its rows publish them."""
        pending = self.judgment.pending
        self.judgment.finish(pending.pop(which % len(pending)))

    @invariant()
    def holds(self) -> None:
        """Compare the target with the model."""
        if self._judgment is not None:
            self.judgment.holds()

    def hang(self, **settings: Any) -> None:
        """Let an execution prepare its rows, and then hang."""
        pending = self.judgment.begin(**settings)
        if pending.execution.error is None:
            self.judgment.pending.append(pending)

    def teardown(self) -> None:
        """End well, unless something has been found already."""
        if self._judgment is None:
            return
        try:
            if sys.exc_info()[0] is None:
                self.judgment.end_well()
        finally:
            self.judgment.world.end()
