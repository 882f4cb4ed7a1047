"""Runs, reruns, other writers, an owner who maintains, and faults on one table of Iceberg or Delta."""

from __future__ import annotations

from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from tests.machine.alphabet import NO_VALUES, PARTITION_VALUES, PLAIN_VALUES, drawn
from tests.machine.judgment import Judgment
from tests.machine.lake_world import LakeWorld
from tests.machine.sink_machine import KEYS, OPERATORS, PLANS, ROWS, RUNS, SinkMachine, faults
from tests.machine.tally import TALLY

_KINDS = ("reset", "answer lost", "death", "death after", "slow")
_MODES = ("append", "append", "append", "overwrite", "error-if-exists", "merge", "overwrite-partitions")
_VALUES = st.one_of(st.sampled_from(PLAIN_VALUES), drawn("value", NO_VALUES), drawn("value", PARTITION_VALUES))
_FAULTS = st.one_of(faults(_KINDS, ("commit", "commit", "write"), 3), faults(_KINDS, ("put", "get", "keys"), 20))


class LakeMachine(SinkMachine):
    """Sinks of one table."""

    formats: ClassVar[tuple[str, ...]] = ("iceberg", "delta")

    @initialize(
        format=st.deferred(lambda: st.sampled_from(LakeMachine.formats)),
        partitioned=st.booleans(),
        store=st.sampled_from(["local", "in memory"]),
        values=st.lists(_VALUES, min_size=3, max_size=3, unique=True),
    )
    def begin(self, values: list[str | None], **ground: Any) -> None:
        self._judgment = Judgment(LakeWorld(type(self).session(), **ground), tuple(values))
        TALLY.examples += 1

    @property
    def world(self) -> LakeWorld:
        """Return the table."""
        world = self.judgment.world
        assert isinstance(world, LakeWorld)
        return world

    def _mode(self, mode: str) -> str:
        return "append" if mode == "overwrite-partitions" and not self.world.partitioned else mode

    @rule(run=RUNS, mode=drawn("mode", _MODES), rows=ROWS, keys=KEYS, fault=_FAULTS, plan=PLANS, operator=OPERATORS)
    def write(self, mode: str, **settings: Any) -> None:
        self.judgment.attempt(mode=self._mode(mode), **settings)

    @rule(run=RUNS, mode=drawn("mode", _MODES), rows=ROWS, keys=KEYS, fault=_FAULTS)
    @precondition(lambda self: self._judgment is not None and len(self.judgment.pending) < 2)
    def prepare(self, mode: str, **settings: Any) -> None:
        self.hang(mode=self._mode(mode), **settings)

    @rule(value=st.integers(0, 2))
    @precondition(lambda self: self._judgment is not None and self.judgment.is_settled and self.world.exists())
    def others_put(self, value: int) -> None:
        row = (99, self.judgment.values[value], next(self.judgment.numbers))
        self.world.others_put(row)
        TALLY.steps += 1
        self.judgment.others_put(row)

    @rule()
    @precondition(lambda self: self._judgment is not None and not self.judgment.pending and self.world.exists())
    def compact(self) -> None:
        self.world.compact()
        TALLY.steps += 1

    @rule()
    @precondition(lambda self: self._judgment is not None and self.judgment.is_settled and self.world.exists())
    def forget(self) -> None:
        self.world.forget()
        TALLY.steps += 1
