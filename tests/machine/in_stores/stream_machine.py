"""Runs of a stream, savepoints, resets, gc, and faults of requests, in HDFS."""

from __future__ import annotations

import sys

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.machine.in_stores.grounds import hdfs_ground
from tests.machine.in_stores.stream_world import StreamWorld
from tests.machine.in_stores.target_machine import drawn_troubles
from tests.machine.in_stores.troubles import HDFS_CALLS, KINDS, Trouble
from tests.machine.sink_machine import RUNS
from tests.machine.tally import TALLY

_NEAR_A_DECISION = st.builds(
    Trouble, kind=st.sampled_from(KINDS), call=st.sampled_from(["intent", "done", "rename"]), nth=st.integers(0, 9)
)
_TROUBLES = st.one_of(st.just(()), st.tuples(_NEAR_A_DECISION), drawn_troubles(HDFS_CALLS, 100))
_ENDED = st.one_of(st.just(frozenset({"run 1", "run 2", "run 3"})), st.frozensets(RUNS))


class StreamMachine(RuleBasedStateMachine):
    """One stream, and one target."""

    steps = 20

    def __init__(self) -> None:
        super().__init__()
        self._world: StreamWorld | None = None

    @property
    def world(self) -> StreamWorld:
        """Return the store and its processes, once they have begun."""
        assert self._world is not None
        return self._world

    @initialize(mode=st.sampled_from(["append", "append", "merge"]))
    def begin(self, mode: str) -> None:
        self._world = StreamWorld(hdfs_ground(), mode)
        TALLY.examples += 1

    @rule(count=st.integers(0, 3), run=RUNS, most=st.integers(1, 3), troubles=_TROUBLES)
    @precondition(lambda self: self._world is not None and len(self.world.stopped) < 3)
    def run(self, count: int, run: str, most: int, troubles: tuple[Trouble, ...]) -> None:
        self.world.arrive(count)
        self.world.run(run, most, troubles)

    @rule(count=st.integers(1, 4), run=RUNS, most=st.integers(1, 2))
    @precondition(lambda self: self._world is not None and len(self.world.stopped) < 3)
    def arrive_and_run(self, count: int, run: str, most: int) -> None:
        self.world.arrive(count)
        self.world.run(run, most, ())

    @rule(which=st.integers(0, 2))
    @precondition(lambda self: self._world is not None and self.world.stopped)
    def resume(self, which: int) -> None:
        self.world.resume(which)

    @rule(which=st.integers(0, 5))
    @precondition(lambda self: self._world is not None and self.world.late)
    def deliver(self, which: int) -> None:
        self.world.deliver(which)

    @rule(ended=_ENDED, troubles=_TROUBLES, is_old=st.booleans())
    @precondition(lambda self: self._world is not None and len(self.world.stopped) < 3)
    def collect_garbage(self, ended: frozenset[str], troubles: tuple[Trouble, ...], *, is_old: bool) -> None:
        self.world.collect_garbage(ended, troubles, is_old=is_old)

    @rule(troubles=_TROUBLES)
    @precondition(lambda self: self._world is not None and len(self.world.stopped) < 3)
    def ask(self, troubles: tuple[Trouble, ...]) -> None:
        self.world.ask(troubles)

    @rule(troubles=_TROUBLES)
    @precondition(lambda self: self._world is not None and len(self.world.stopped) < 3)
    def save(self, troubles: tuple[Trouble, ...]) -> None:
        self.world.save(troubles)

    @rule(which=st.integers(0, 2), count=st.integers(0, 2), run=RUNS, troubles=_TROUBLES)
    @precondition(lambda self: self._world is not None and self.world.savepoints and self.world.may_be_reset)
    def begin_with(self, which: int, count: int, run: str, troubles: tuple[Trouble, ...]) -> None:
        self.world.begin_with(which)
        self.world.arrive(count)
        self.world.run(run, 1, troubles)

    @rule()
    @precondition(lambda self: self._world is not None and self.world.may_be_reset and self.world.published.there)
    def begin_again(self) -> None:
        self.world.begin_again()

    @rule(which=st.integers(0, 3))
    @precondition(lambda self: self._world is not None and self.world.is_quiet and self.world.published.there)
    def damage(self, which: int) -> None:
        self.world.damage(which)

    def teardown(self) -> None:
        """End well, unless something has been found already."""
        if self._world is not None and sys.exc_info()[0] is None:
            self.world.end_well()
