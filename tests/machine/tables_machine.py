"""Runs, reruns, other writers and faults on one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from tests.harness.postgres import Postgres
from tests.machine.alphabet import NO_VALUES, PARTITION_VALUES, PLAIN_VALUES, TABLE_COLUMNS, TABLES, drawn, mostly_plain
from tests.machine.faults import DATABASE_CALLS, DATABASE_KINDS
from tests.machine.judgment import Judgment
from tests.machine.proxy import Proxy
from tests.machine.sink_machine import KEYS, OPERATORS, PLANS, ROWS, RUNS, SinkMachine, faults
from tests.machine.tables_world import TablesWorld
from tests.machine.tally import TALLY

MODES = ("append", "overwrite", "error-if-exists", "merge")
_VALUES = st.one_of(st.sampled_from(PLAIN_VALUES), drawn("value", NO_VALUES), drawn("value", PARTITION_VALUES))
_FAULTS = faults(DATABASE_KINDS, DATABASE_CALLS, 40)


class TablesMachine(SinkMachine):
    """Sinks of one table."""

    database: ClassVar[Callable[[], tuple[Postgres, Proxy]]]

    @initialize(
        column=mostly_plain("column", "day", TABLE_COLUMNS),
        store=st.sampled_from(["local", "in memory"]),
        values=st.lists(_VALUES, min_size=3, max_size=3, unique=True),
        names=drawn("table", TABLES),
    )
    def begin(self, values: list[str | None], names: tuple[str, ...], **ground: Any) -> None:
        server, proxy = type(self).database()
        self.names = names
        world = TablesWorld(type(self).session(), server, proxy, table=names[0], **ground)
        self._judgment = Judgment(world, tuple(values))
        TALLY.examples += 1

    @property
    def world(self) -> TablesWorld:
        """Return the table and its server."""
        world = self.judgment.world
        assert isinstance(world, TablesWorld)
        return world

    @rule(
        run=RUNS,
        mode=drawn("mode", MODES),
        rows=ROWS,
        keys=KEYS,
        fault=_FAULTS,
        plan=PLANS,
        operator=OPERATORS,
        alias=drawn("alias", (0, 0, 1, 2)),
    )
    def write(self, alias: int, **settings: Any) -> None:
        self.judgment.attempt(alias=self.names[alias % len(self.names)], **settings)

    @rule(run=RUNS, mode=drawn("mode", MODES), rows=ROWS, keys=KEYS, fault=_FAULTS)
    @precondition(lambda self: self._judgment is not None and len(self.judgment.pending) < 2)
    def prepare(self, **settings: Any) -> None:
        self.hang(alias=self.names[0], **settings)

    @rule(value=st.integers(0, 2))
    @precondition(lambda self: self._judgment is not None and self.judgment.is_settled)
    def others_put(self, value: int) -> None:
        row = (99, self.judgment.values[value], next(self.judgment.numbers))
        self.world.others_put(row)
        TALLY.steps += 1
        self.judgment.others_put(row)

    @rule()
    @precondition(lambda self: self._judgment is not None and self.judgment.pending)
    def wake_while_the_table_is_locked(self) -> None:
        pending = self.judgment.pending.pop()
        fate = pending.execution.fate
        fate.has_struck = True
        # Another run would be refused, too: no one gets past the lock.
        fate.meanwhile = lambda: None
        self.judgment.finish(pending, meanwhile=self.world.locked())
