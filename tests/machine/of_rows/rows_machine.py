"""Small pipelines over keys that are equal and not identical: no row is lost, doubled, or another one each time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from pyspark.sql import SparkSession

from graph_compiler.deployment.documents.report import Phase
from graph_compiler.graphs.shared_results import LEAST_READERS
from tests.harness.postgres import Postgres
from tests.machine.alphabet import drawn
from tests.machine.of_rows.keys import CONDITIONS, KEYS, TIMES
from tests.machine.of_rows.lookups import CHANGES, LOOKUPS, VARYING
from tests.machine.of_rows.operations import OPERATIONS, SPLITS
from tests.machine.of_rows.rows_run import Change
from tests.machine.of_rows.rows_world import BOTH, RowsWorld
from tests.machine.of_rows.sources import SOURCES, changed, written
from tests.machine.tally import TALLY

Sinks = tuple[tuple[str, ...], ...]
_GROUPING = ("aggregate", "window", "distinct", "deduplicate", "any of a key")
_ONE = tuple(name for name, operation in OPERATIONS.items() if operation.inputs == 1)
_TWO = tuple(name for name, operation in OPERATIONS.items() if operation.inputs == 2)
_COMPARING = (*_GROUPING, *_TWO)
_KEYS = (*KEYS, *("double", "float", "struct", "array") * 2, "lower case", "Unicode")
_NEIGHBORS = 4
Row = tuple[int, int | None]
ROWS = st.lists(
    st.tuples(st.integers(0, _NEIGHBORS - 1), st.one_of(st.none(), st.integers(0, 2))), min_size=3, max_size=7
)
"""Rows: the number of a key's text, counted from the world's first, and v. Texts of equal keys are neighbors."""
_LAST = st.sampled_from((0, 0, 0, 1, 1, 2))
"""A stream, counted from the last one."""
_SINKS = st.sampled_from(((), (), (BOTH,), (("k",),), (BOTH, ("v",)), (BOTH, ("k",))))
"""Columns of the sinks that a stream gets."""
_WAYS = (*SPLITS, "filter")
_MOST_SOURCES = 2
_NEW = "1900-01-01 00:00:00"
_OF_SOURCES = "sources"
_MOMENTS = st.tuples(st.sampled_from((Phase.PREPARE, Phase.PREPARE, Phase.PREPARE, Phase.EVALUATE)), st.integers(0, 3))
_CHANGES = st.one_of(
    st.none(),
    st.tuples(_MOMENTS, st.just(_OF_SOURCES), st.none()),
    st.tuples(_MOMENTS, st.sampled_from(CHANGES), drawn("operation", LOOKUPS)),
)
"""When something changes, what, and an operator that reads it."""
_BELOW = st.tuples(drawn("operation", (*_COMPARING, *LOOKUPS)), st.integers(0, 9))


class RowsMachine(RuleBasedStateMachine):
    """One pipeline, drawn operator by operator, and run at the end."""

    session: ClassVar[Callable[[], SparkSession]]
    database: ClassVar[Postgres | None] = None
    """Where tables are, if there is a PostgreSQL."""
    steps: ClassVar[int] = 3
    has_old_days_in_orc: ClassVar[bool] = False
    """Whether ORC files have days before 1582, which Arrow and Spark read from different calendars."""

    def __init__(self) -> None:
        super().__init__()
        self.world: RowsWorld | None = None
        self.other: int | None = None
        self.first = 0

    @initialize(
        key=drawn("key", _KEYS),
        source=drawn("source", SOURCES),
        rows=ROWS,
        first=st.integers(0, 40),
        below=st.lists(_BELOW, min_size=1, max_size=2),
        way=drawn("split", _WAYS),
        n=st.integers(0, 40),
        is_sunk=st.booleans(),
        other=st.one_of(st.none(), st.integers(0, 3)),
        changes=_CHANGES,
    )
    def begin(
        self,
        *,
        key: str,
        source: str,
        rows: list[Row],
        first: int,
        below: list[tuple[str, int]],
        way: str,
        n: int,
        is_sunk: bool,
        other: int | None,
        changes: tuple[tuple[Phase, int], str, str | None] | None,
    ) -> None:
        """Start with a source, operators that compare keys or read files, and a split.

        `changes`: when files change, how, and what reads them. `other`: run it again, in another way.
        """
        self.other = other
        world = RowsWorld(type(self).session(), self.database, KEYS[key])
        self.start(world, source, rows, first)
        reads = [] if changes is None or changes[2] is None else [(changes[2], 0)]
        for operation, number in [*reads, *below]:
            self._apply(operation, (0, len(world.made)), number, ())
        self._split(way, 0, n, is_sunk=is_sunk)
        if changes is not None:
            (phase, number), what, _ = changes
            world.changes_sources = what == _OF_SOURCES
            happens = partial(changed, world.folder) if world.changes_sources else partial(world.lookups.change, what)
            world.change = Change(phase, number, happens)

    @rule(source=drawn("source", SOURCES), rows=ROWS)
    @precondition(lambda self: self.world and len(self.world.sources) < _MOST_SOURCES)
    def read(self, source: str, rows: list[Row]) -> None:
        """Add another source."""
        self._read(source, rows)

    @rule(
        operation=drawn("operation", (*_ONE, *LOOKUPS, *_GROUPING, *_GROUPING)),
        of=_LAST,
        n=st.integers(0, 9),
        sinks=_SINKS,
    )
    @precondition(lambda self: self.world)
    def apply(self, operation: str, of: int, n: int, sinks: Sinks) -> None:
        """Apply an operator to one stream."""
        self._apply(operation, (of,), n, sinks)

    @rule(operation=drawn("operation", _TWO), left=_LAST, right=_LAST, n=st.integers(0, 9), sinks=_SINKS)
    @precondition(lambda self: self.world)
    def combine(self, operation: str, left: int, right: int, n: int, sinks: Sinks) -> None:
        """Apply an operator to two streams, or twice to one."""
        self._apply(operation, (left, right), n, sinks)

    @rule(operation=drawn("operation", _COMPARING), left=_LAST, right=_LAST, n=st.integers(0, 9))
    @precondition(lambda self: self.world)
    def report(self, operation: str, left: int, right: int, n: int) -> None:
        """Compare keys, and write reports of the result, which is computed once for them."""
        before = len(self.there().made)
        self._apply(operation, (left, right), n, ())
        shared = len(self.there().made) - 1
        for number in range(LEAST_READERS if shared == before else 0):
            self._apply("aggregate", (len(self.there().made) - 1 - shared,), n + number, (BOTH,))

    @rule(way=drawn("split", _WAYS), of=_LAST, n=st.integers(0, 40), is_sunk=st.booleans())
    @precondition(lambda self: self.world)
    def split(self, way: str, of: int, n: int, is_sunk: bool) -> None:
        """Put each row of a stream into one of two outputs, and write both; `is_sunk`: write the stream, too."""
        self._split(way, of, n, is_sunk=is_sunk)

    def _split(self, way: str, of: int, n: int, *, is_sunk: bool) -> None:
        world, stream = self.there(), self._stream(of)
        if is_sunk:
            world.write(stream, BOTH)
        conditions = (*world.key.conditions, *world.key.conditions, *CONDITIONS)
        if way != "by hand":
            conditions = (*world.key.compared, *conditions, VARYING)
        world.split(way, conditions[n % len(conditions)], stream)
        last = len(world.made) - 1
        for output in (last - 1, last):
            world.write(output, BOTH)
        TALLY.steps += 1
        TALLY.tried["rows", way, world.made[stream].how] += 1

    def teardown(self) -> None:
        """Run the pipeline."""
        if self.world is None:
            return
        try:
            if sys.exc_info()[0] is None:
                wrong = self.check()
                assert wrong is None, wrong
        finally:
            self.world.end()

    def start(self, world: RowsWorld, source: str, rows: list[Row], first: int) -> None:
        """Begin a world with one source; `first` is the number of the first text that it has."""
        TALLY.examples += 1
        self.world, self.first = world, first
        self._read(source, rows)

    def check(self) -> str | None:
        """Run the pipeline; return what is wrong with its rows."""
        return self.there().check(self.other)

    def there(self) -> RowsWorld:
        """Return the world, once it has begun."""
        assert self.world is not None
        return self.world

    def _stream(self, back: int) -> int:
        return max(0, len(self.there().made) - 1 - back)

    def _apply(self, operation: str, of: tuple[int, ...], n: int, sinks: Sinks) -> None:
        world = self.there()
        inputs = [self._stream(back) for back in of[: world.operations[operation].inputs]]
        if world.apply(operation, inputs, n):
            world.write(len(world.made) - 1, *sinks)
            TALLY.steps += 1

    def _read(self, source: str, rows: list[Row]) -> None:
        world = self.there()
        texts = world.key.texts
        pairs = [(texts[(self.first + number) % len(texts)], v) for number, v in rows]
        if source == "orc" and texts is TIMES and not self.has_old_days_in_orc:
            pairs = [(_NEW if text is not None and text < "1583" else text, v) for text, v in pairs]
        folder = world.folder / f"in-{len(world.sources)}"
        world.read(written(source, folder, pairs, world), pairs)
        TALLY.steps += 1
