"""Writers and readers of one staged result in a bucket or in HDFS, gc, and faults of requests."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from tests.machine.in_stores.grounds import bucket_ground, hdfs_ground
from tests.machine.in_stores.result_world import ResultWorld
from tests.machine.in_stores.server import Ground
from tests.machine.in_stores.target_machine import TROUBLES, drawn_troubles
from tests.machine.in_stores.troubles import Trouble
from tests.machine.tally import TALLY

_CALLS = ("any", "any", "put once", "list", "get", "delete")


class ResultMachine(RuleBasedStateMachine):
    """One staged result; each machine has its own store."""

    troubles: ClassVar[st.SearchStrategy[tuple[Trouble, ...]]]
    ground: ClassVar[Callable[[], Ground]]

    def __init__(self) -> None:
        super().__init__()
        self.world = ResultWorld(type(self).ground())
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


class ResultsMachine(ResultMachine):
    """One staged result in a bucket."""

    troubles = drawn_troubles(_CALLS, 10)
    ground = staticmethod(bucket_ground)


class HdfsResultsMachine(ResultMachine):
    """One staged result in HDFS."""

    troubles = drawn_troubles((*_CALLS, "create", "write", "rename", "mkdirs"), 10)
    ground = staticmethod(hdfs_ground)
