"""Runs, reruns, other writers, gc and faults of requests on one target in a bucket, or in HDFS."""

from __future__ import annotations

import sys
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.machine.alphabet import PLAIN_VALUES, drawn
from tests.machine.in_stores.grounds import bucket_ground, hdfs_ground
from tests.machine.in_stores.target_world import MODES, TargetWorld
from tests.machine.in_stores.troubles import BUCKET_CALLS, HDFS_CALLS, KINDS, Trouble
from tests.machine.sink_machine import ROWS, RUNS
from tests.machine.tally import TALLY

_KINDS = drawn("fault", KINDS)


def drawn_troubles(calls: tuple[str, ...], last: int) -> st.SearchStrategy[tuple[Trouble, ...]]:
    """Draw up to three troubles, each at a request up to the last, early ones more often."""
    trouble = st.builds(
        Trouble,
        kind=st.one_of(_KINDS, _KINDS, drawn("fault", ("stopped",))),  # what others do then counts
        call=drawn("call", calls),
        nth=st.one_of(st.just(0), st.integers(0, 3), st.integers(0, last)),
        times=st.integers(1, 12),
    )
    return st.one_of(st.just(()), st.tuples(trouble), st.lists(trouble, max_size=3).map(tuple))


def _of_the_machine(machine: Any) -> st.SearchStrategy[tuple[Trouble, ...]]:
    return machine.troubles  # type: ignore[no-any-return]


TROUBLES = st.runner().flatmap(_of_the_machine)
"""Those of the machine that draws."""
_ENDED = st.one_of(st.just(frozenset({"run 1", "run 2", "run 3"})), st.frozensets(RUNS))


class TargetMachine(RuleBasedStateMachine):
    """Sinks of one target; each machine begins its own world."""

    troubles: ClassVar[st.SearchStrategy[tuple[Trouble, ...]]]

    def __init__(self) -> None:
        super().__init__()
        self._world: TargetWorld | None = None

    @property
    def world(self) -> TargetWorld:
        """Return the store and its processes, once they have begun."""
        assert self._world is not None
        return self._world

    @rule(run=RUNS, mode=drawn("mode", MODES), rows=ROWS, troubles=TROUBLES)
    @precondition(lambda self: self._world is not None and len(self.world.stopped) < 3)
    def write(self, run: str, mode: str, rows: list[tuple[int, int]], troubles: tuple[Trouble, ...]) -> None:
        if mode == "overwrite-partitions" and not self.world.partitioned:
            mode = "overwrite"
        if mode == "merge":  # by id
            rows = list(dict(rows).items())
        numbered = [(id, PLAIN_VALUES[value], next(self.world.numbers)) for id, value in rows]
        self.world.write(run, mode, numbered, troubles)

    @rule(which=st.integers(0, 2))
    @precondition(lambda self: self._world is not None and self.world.stopped)
    def resume(self, which: int) -> None:
        self.world.resume(which)

    @rule(which=st.integers(0, 5))
    @precondition(lambda self: self._world is not None and self.world.late)
    def arrive(self, which: int) -> None:
        self.world.arrive(which)

    @rule(value=st.integers(0, 2))
    @precondition(lambda self: self._world is not None)
    def others_put(self, value: int) -> None:
        self.world.others_put(PLAIN_VALUES[value])

    @rule(which=st.integers(0, 1))
    @precondition(lambda self: self._world is not None and self.world.collecting)
    def resume_collection(self, which: int) -> None:
        self.world.resume_collection(which)

    @rule(ended=_ENDED, troubles=TROUBLES, is_old=st.booleans())
    @precondition(lambda self: self._world is not None and len(self.world.collecting) < 2)
    def collect_garbage(self, ended: frozenset[str], troubles: tuple[Trouble, ...], *, is_old: bool) -> None:
        self.world.collect_garbage(ended, troubles, is_old=is_old)

    def teardown(self) -> None:
        """End well, unless something has been found already."""
        if self._world is not None and sys.exc_info()[0] is None:
            self.world.end_well()


class BucketMachine(TargetMachine):
    """Sinks of one target in a bucket."""

    troubles = drawn_troubles(BUCKET_CALLS, 60)

    @initialize(partitioned=st.booleans(), confirms=st.booleans())
    def begin(self, *, partitioned: bool, confirms: bool) -> None:
        self._world = TargetWorld(bucket_ground(confirms=confirms), partitioned)
        TALLY.examples += 1


class HdfsMachine(TargetMachine):
    """Sinks of one target in HDFS."""

    troubles = drawn_troubles(HDFS_CALLS, 60)

    @initialize(partitioned=st.booleans())
    def begin(self, *, partitioned: bool) -> None:
        self._world = TargetWorld(hdfs_ground(), partitioned)
        TALLY.examples += 1
