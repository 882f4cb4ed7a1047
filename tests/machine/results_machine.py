"""Writers and readers of one staged result in a bucket, gc, and faults of requests."""

from __future__ import annotations

import sys

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from tests.machine.bucket_machine import drawn_troubles
from tests.machine.bucket_requests import Trouble
from tests.machine.results_world import ResultsWorld
from tests.machine.tally import TALLY

TROUBLES = drawn_troubles(("any", "any", "put once", "list", "get", "delete"), 10)


class ResultsMachine(RuleBasedStateMachine):
    """One staged result in a bucket."""

    def __init__(self) -> None:
        super().__init__()
        self.world = ResultsWorld()
        TALLY.examples += 1

    @rule(count=st.integers(0, 4), troubles=TROUBLES)
    @precondition(lambda self: len(self.world.stopped) < 4)
    def stage(self, count: int, troubles: tuple[Trouble, ...]) -> None:
        self.world.stage(count, troubles)

    @rule(troubles=TROUBLES)
    @precondition(lambda self: self.world.committed and len(self.world.stopped) < 4)
    def read(self, troubles: tuple[Trouble, ...]) -> None:
        self.world.read(troubles)

    @rule(which=st.integers(0, 3))
    @precondition(lambda self: self.world.stopped)
    def resume(self, which: int) -> None:
        self.world.resume(which)

    @rule(which=st.integers(0, 5))
    @precondition(lambda self: self.world.late)
    def arrive(self, which: int) -> None:
        self.world.arrive(which)

    @rule(which=st.integers(0, 2), is_changed=st.booleans())
    @precondition(lambda self: self.world.committed)
    def lose(self, which: int, *, is_changed: bool) -> None:
        self.world.lose(which, is_changed=is_changed)

    @rule(troubles=TROUBLES)
    @precondition(lambda self: self.world.has_begun and len(self.world.stopped) < 4)
    def collect_garbage(self, troubles: tuple[Trouble, ...]) -> None:
        self.world.collect_garbage(troubles)

    @rule(troubles=TROUBLES)
    @precondition(lambda self: not self.world.stopped and not self.world.late)
    def expire(self, troubles: tuple[Trouble, ...]) -> None:
        self.world.expire(troubles)

    def teardown(self) -> None:
        """End well, unless something has been found already."""
        if sys.exc_info()[0] is None:
            self.world.end_well()
