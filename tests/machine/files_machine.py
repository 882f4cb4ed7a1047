"""Runs, reruns, other writers and faults on one folder."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from tests.machine.alphabet import (
    ALIASES,
    FOREIGN_FILES,
    LINKS,
    NO_VALUES,
    OPTIONS,
    PARTITION_COLUMNS,
    PARTITION_VALUES,
    PLAIN_VALUES,
    TARGETS,
    drawn,
    mostly_plain,
)
from tests.machine.faults import CALLS, KINDS
from tests.machine.files_world import FORMATS, FilesWorld, Ground
from tests.machine.judgment import Judgment
from tests.machine.model import OWN_PARTITION
from tests.machine.sink_machine import KEYS, OPERATORS, PLANS, ROWS, RUNS, SinkMachine, faults
from tests.machine.tally import TALLY

MODES = ("append", "overwrite", "overwrite-partitions", OWN_PARTITION, "error-if-exists", "merge")
_VALUES = st.one_of(st.sampled_from(PLAIN_VALUES), drawn("value", NO_VALUES), drawn("value", PARTITION_VALUES))
_FAULTS = faults(KINDS, CALLS, 12)


class FilesMachine(SinkMachine):
    """Sinks of one folder."""

    @initialize(
        name=mostly_plain("target", "out", TARGETS),
        column=mostly_plain("column", "day", PARTITION_COLUMNS),
        partitioned=st.booleans(),
        format=mostly_plain("format", "parquet", tuple(FORMATS)),
        store=st.sampled_from(["local", "in memory"]),
        link=mostly_plain("link", "none", LINKS),
        values=st.lists(_VALUES, min_size=3, max_size=3, unique=True),
    )
    def begin(self, name: str, values: list[str | None], **ground: Any) -> None:
        world = FilesWorld(type(self).session(), Ground(target=name, **ground))
        if ground["format"] == "csv" and not ground["partitioned"]:
            values = list(PLAIN_VALUES)  # what CSV does to text is said in docs/connectors.md
        self._judgment = Judgment(world, tuple(values))
        TALLY.examples += 1

    @property
    def ground(self) -> Ground:
        """Return what stays the same in this world."""
        world = self.judgment.world
        assert isinstance(world, FilesWorld)
        return world.ground

    @rule(
        run=RUNS,
        mode=drawn("mode", MODES),
        rows=ROWS,
        keys=KEYS,
        options=mostly_plain("option", (), OPTIONS),
        fault=_FAULTS,
        plan=PLANS,
        operator=OPERATORS,
        alias=mostly_plain("alias", "{}", ALIASES),
        own=st.integers(0, 2),
    )
    def write(self, mode: str, **settings: Any) -> None:
        self.judgment.attempt(mode=self._possible(mode), **settings)

    @rule(run=RUNS, mode=drawn("mode", MODES), rows=ROWS, keys=KEYS, fault=_FAULTS, own=st.integers(0, 2))
    @precondition(lambda self: self._judgment is not None and len(self.judgment.pending) < 2)
    def prepare(self, mode: str, **settings: Any) -> None:
        self.hang(mode=self._possible(mode), **settings)

    @rule(name=drawn("file", FOREIGN_FILES), value=st.integers(0, 2), linked=mostly_plain("linked", "none", LINKS))
    @precondition(lambda self: self._judgment is not None and self.judgment.is_settled)
    def others_put(self, name: str, value: int, linked: str) -> None:
        judgment, world = self.judgment, self.judgment.world
        assert isinstance(world, FilesWorld)
        part = judgment.values[value]
        if world.ground.format != "parquet" or not world.may_have_a_folder(part):
            return
        row = (99, part, next(judgment.numbers))
        before = world.seen()
        world.others_put(name, row, linked=linked)
        TALLY.steps += 1
        if world.seen() != before:  # else its name hides it
            judgment.others_put(row)

    def _possible(self, mode: str) -> str:
        """Return a mode that the ground allows."""
        if mode in ("overwrite-partitions", OWN_PARTITION) and not self.ground.partitioned:
            return "overwrite"
        if mode == "merge" and self.ground.format not in ("parquet", "orc"):
            return "append"
        return mode
