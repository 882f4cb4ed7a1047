"""A drawn pipeline with its data: it is run in one or two ways, and its rows are compared.

    drawn sinks              as declared                                       ─┐
    a sink of each stream    staged at each exchange, other settings of Spark   ┴▶ rows of each stream

Each operator's rows must follow from those of its inputs (`operations.py`). A split has each row of its input once. All
sinks of a stream have the same rows. Where the product does not say that rows may differ, both runs have the same ones.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

from pyspark.sql import SparkSession

from graph_compiler import DataStream, Parquet, StreamExecutionEnvironment
from tests.harness.postgres import Postgres
from tests.machine.of_rows.keys import Key
from tests.machine.of_rows.lookups import LOOKUPS, VARYING, Lookups
from tests.machine.of_rows.operations import OPERATIONS, SPLITS, Pair, made_identical, why_not_expected
from tests.machine.of_rows.rows_run import Cells, Change, RowsRun

Declares = Callable[[StreamExecutionEnvironment], DataStream]
Columns = tuple[str, ...]
Known = tuple[list[Pair], bool]
"""Rows, and whether their keys are the texts that they have, not what equal ones have in common."""
BOTH: Columns = ("k", "v")
_MOST_ROWS = 300
_SMALL = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
}
"""Tasks that begin fast."""
_OTHERWISE: Sequence[Mapping[str, str]] = (
    {},
    {"spark.sql.autoBroadcastJoinThreshold": "-1", "spark.sql.files.maxPartitionBytes": "64"},
    {**_SMALL, "spark.sql.shuffle.partitions": "3"},
    {**_SMALL, "spark.sql.autoBroadcastJoinThreshold": "-1"},
)
"""Settings of Spark by which rows arrive in another order."""
_STAGED = {"execution.batch-shuffle-mode": "ALL_EXCHANGES_BLOCKING"}


@dataclass(frozen=True)
class Made:
    """A stream: what made it of which others. Of a split there are two, one after the other."""

    how: str
    inputs: tuple[int, ...] = ()
    n: int = 0
    most: int = 1
    """The largest number of rows that it can have."""
    condition: str | None = None
    """Of a split."""
    is_rest: bool = False


class RowsWorld:
    """A pipeline as it is drawn."""

    def __init__(self, spark: SparkSession, database: Postgres | None, key: Key) -> None:
        self.spark, self.database, self.key = spark, database, key
        self.folder = Path(tempfile.mkdtemp(prefix="machine-", dir="/dev/shm"))
        self.lookups = Lookups(spark, self.folder)
        self.operations = {**OPERATIONS, **self.lookups.operations()}
        self.made: list[Made] = []
        self.sources: list[Declares] = []
        self._given: list[Sequence[Pair]] = []
        self._keys: dict[int, list[Pair]] = {}
        self._drop: set[int] = set()
        self._only_equal: set[int] = set()
        self.sinks: dict[tuple[int, Columns], None] = {}
        self.streams: list[DataStream] = []
        """As they were declared last."""
        self.change: Change | None = None
        """What happens in the first attempt."""
        self.changes_sources = False

    def end(self) -> None:
        """Remove its files and its table."""
        self.lookups.end()
        shutil.rmtree(self.folder, ignore_errors=True)

    def read(self, source: Declares, rows: Sequence[Pair]) -> None:
        """Add a source of k and v, which has keys of these texts."""
        self.made.append(Made("source", n=len(self.sources), most=len(rows)))
        self.sources.append(source)
        self._given.append(rows)

    def drop_records(self) -> None:
        """Expect the next source to drop records with a key that is NULL, if it reads their v."""
        self._drop.add(len(self.sources))

    def take_equal_keys(self) -> None:
        """Expect the next source to return keys that are equal to those written, perhaps not identical."""
        self._only_equal.add(len(self.sources))

    def apply(self, operation: str, inputs: Sequence[int], n: int) -> bool:
        """Add an operator, unless it could have too many rows; return whether it was added."""
        most = [max(1, self.made[each].most) for each in inputs]
        rows = 2 * most[0] * most[-1] if operation == "join" else self.operations[operation].grows * max(most)
        if rows <= _MOST_ROWS:
            self.made.append(Made(operation, tuple(inputs), n, rows))
        return rows <= _MOST_ROWS

    def split(self, way: str, condition: str, of: int) -> None:
        """Add both outputs of a split."""
        for is_rest in (False, True):
            self.made.append(Made(way, (of,), 0, self.made[of].most, condition, is_rest))

    def write(self, stream: int, *sinks: Columns) -> None:
        """Add sinks of these columns."""
        self.sinks |= {(stream, columns): None for columns in sinks}

    def check(self, other: int | None) -> str | None:
        """Run it, and again in the way `other` if that is given; return what is wrong with its rows."""
        if not self.sinks:
            return None
        first = self._run(self.sinks, _SMALL, {}, self.change)
        if first.failure is not None and self.change is not None:
            if "changed" not in first.failure.message:
                return self._why_failed(first.failure.message)
            first = self._run(self.sinks, _SMALL, {}, None)
        if (wrong := self._why_wrong(first)) or other is None or first.failure is not None:
            return wrong
        everything = [(stream, BOTH) for stream in range(len(self.made))]
        second = self._run(everything, _OTHERWISE[other % len(_OTHERWISE)], _STAGED, None)
        if (wrong := self._why_wrong(second)) or self.change is not None:
            return wrong
        return self._why_different(first, second)

    def declare(self, sinks: Sequence[tuple[int, Columns]], options: Mapping[str, str]) -> StreamExecutionEnvironment:
        """Declare the pipeline with these sinks."""
        env = StreamExecutionEnvironment("rows", config=dict(options))
        streams: list[DataStream] = []
        for number, made in enumerate(self.made):
            if made.is_rest:
                continue
            inputs = [streams[each] for each in made.inputs]
            outputs: tuple[DataStream, ...]
            if made.condition is not None:
                outputs = SPLITS[made.how](inputs[0], made.condition)
            elif made.how == "source":
                outputs = (self.sources[made.n](env),)
            else:
                outputs = (self.operations[made.how].declare(*inputs, made.n),)
            outputs[0].name(_name(number))
            streams += outputs
        self.streams = streams
        for stream, columns in sinks:
            rows = streams[stream] if columns == BOTH else streams[stream].select(*columns)
            name = _sink(stream, columns)
            rows.sink_to(Parquet(f"{self.folder}/out/{name}")).name(name)
        return env

    def _run(
        self,
        sinks: Sequence[tuple[int, Columns]] | Mapping[tuple[int, Columns], None],
        settings: Mapping[str, str],
        options: Mapping[str, str],
        change: Change | None,
    ) -> RowsRun:
        run = RowsRun(self.spark, self.folder, change)
        run.run(self.declare(tuple(sinks), options), settings)
        return run

    def _why_wrong(self, run: RowsRun) -> str | None:
        """Return why a run failed, or which of its rows do not follow from the others."""
        if run.failure is not None:
            return self._why_failed(run.failure.message)
        wrong = [self._why_not_made(run, number) or self._why_unequal(run, number) for number in range(len(self.made))]
        return next(filter(None, wrong), None)

    def _why_failed(self, message: str) -> str | None:
        """Return that a run failed, unless both outputs of a function read what may change: that is refused."""
        split_by_it = any(made.how == "function" and made.condition == VARYING for made in self.made)
        return None if split_by_it and "of its outputs read" in message else f"it failed: {message}"

    def _why_unequal(self, run: RowsRun, stream: int) -> str | None:
        """Return how the sinks of a stream differ."""
        known = _rows(run, stream)
        for columns in (("k",), ("v",)):
            rows = run.rows.get(_sink(stream, columns))
            if rows is not None and known is not None and Counter(rows) != _only(known, columns):
                return f"{self._words(stream)}: a sink has {known}, another {rows}"
        return None

    def _why_not_made(self, run: RowsRun, stream: int) -> str | None:
        """Return how the rows of a stream do not follow from those of its inputs."""
        made = self.made[stream]
        inputs = [self._known(run, each) for each in made.inputs]
        if made.is_rest or None in inputs:
            return None
        known = cast("list[Known]", inputs)
        given, is_exact = [rows for rows, _ in known], all(exact for _, exact in known)
        if made.condition is not None:
            return self._why_not_split(run, stream, given[0], is_exact)
        found = self._observed(run, stream)
        if found is None or (made.how == "source" and self.changes_sources):
            return None
        if made.how == "source":
            return self._why_not_read(stream, found)
        same = partial(self.key.same, spark=self.spark)
        operation = self.operations[made.how]
        is_changed = self.change is not None
        wrong = why_not_expected(operation, made.n, given, found, same, is_exact, is_changed=is_changed)
        return wrong and f"{self._words(stream)}: {wrong}"

    def _why_not_read(self, stream: int, found: list[Pair]) -> str | None:
        """Return how the rows of a source differ from those that were written."""
        written = self._written(stream)
        others = Counter(self._as_read(stream, found))
        others.subtract(Counter(self._as_read(stream, written)))
        dropped = {None} if self.made[stream].n in self._drop else set()
        if all(n == 0 or (n > 0 and row[0] in dropped) for row, n in others.items()):
            return None
        return f"{found} was read of {written}"

    def _as_read(self, stream: int, rows: list[Pair]) -> list[Pair]:
        """Return a source's rows, with equal keys made identical if it keeps no more than that."""
        if self.made[stream].n not in self._only_equal:
            return rows
        return made_identical(rows, partial(self.key.same, spark=self.spark))

    def _why_not_split(self, run: RowsRun, stream: int, given: list[Pair], is_exact: bool) -> str | None:
        """Return how the outputs of a split, of which `stream` is the first, differ from its input."""
        kept, rest = _rows(run, stream), _rows(run, stream + 1)
        if kept is None or rest is None:
            return None
        same = partial(self.key.same, spark=self.spark)
        both = [*kept, *rest] if is_exact else made_identical([*kept, *rest], same)
        if Counter(both) == Counter(given):
            return None
        condition = self.made[stream].condition
        return f"{self._words(stream)}: {condition} put {given} into {kept} and {rest}"

    def _known(self, run: RowsRun, stream: int) -> Known | None:
        """Return the rows of a stream: observed, written, or computed here of the rows of its inputs."""
        if (rows := self._observed(run, stream)) is not None:
            return rows, True
        made = self.made[stream]
        if made.how == "source":
            is_known = not self.changes_sources and made.n not in self._drop
            rows, is_exact = self._written(stream), made.n not in self._only_equal
            return (self._as_read(stream, rows), is_exact) if is_known else None
        is_known = made.condition is None and self.operations[made.how].chosen is None
        inputs = [self._known(run, each) for each in made.inputs] if is_known else [None]
        if None in inputs or (made.how in LOOKUPS and self.change is not None):
            return None
        same = partial(self.key.same, spark=self.spark)
        given = [made_identical(rows, same) for rows, _ in cast("list[Known]", inputs)]
        found = cast("Counter[Pair]", self.operations[made.how].expected(*given, made.n))
        return list(found.elements()), False

    def _written(self, stream: int) -> list[Pair]:
        """Return the rows of a source without reading it."""
        if stream not in self._keys:
            texts = self.spark.createDataFrame(list(self._given[self.made[stream].n]), "x STRING, v BIGINT")
            keys = texts.selectExpr(f"{self.key.of_text} AS k", "v")
            rows = keys.selectExpr("CAST(k AS STRING)", "v").collect()
            self._keys[stream] = [(row[0], row[1]) for row in rows]
        return self._keys[stream]

    def _observed(self, run: RowsRun, stream: int) -> list[Pair] | None:
        """Return the rows of a stream's sink, or of both outputs of a split that reads it; None if none is known."""
        if (rows := _rows(run, stream)) is not None:
            return rows
        for number, made in enumerate(self.made):
            if made.condition is not None and not made.is_rest and made.inputs == (stream,):
                kept, rest = _rows(run, number), _rows(run, number + 1)
                if kept is not None and rest is not None:
                    return [*kept, *rest]
        return None

    def _why_different(self, first: RowsRun, second: RowsRun) -> str | None:
        """Return which rows differ between two runs, though nothing says that they may."""
        for stream, columns in self.sinks:
            rows, again = first.rows[_sink(stream, columns)], _rows(second, stream)
            if self._varies(stream, first.varies | second.varies) or again is None:
                continue
            if Counter(rows) != _only(again, columns):
                return f"{self._words(stream)}: it was {rows}, and computed again {again}"
        return None

    def _varies(self, stream: int, names: set[str]) -> bool:
        """Whether rows may differ: the product says so, or numbers in an order are those of 0.0 and -0.0 (`ZEROS`)."""
        made = self.made[stream]
        is_ranked = made.how == "window" and made.n % 2 == 1 and self.key.has_zeros
        known = is_ranked or _name(stream - 1 if made.is_rest else stream) in names
        return known or any(self._varies(each, names) for each in made.inputs)

    def _words(self, stream: int) -> str:
        made = self.made[stream]
        of = [f"{each} ({self.made[each].how})" for each in made.inputs]
        return f"stream {stream}, {made.how} of {', '.join(of) or 'files'}"


def _name(stream: int) -> str:
    return f"s{stream}"


def _sink(stream: int, columns: Columns) -> str:
    return f"out_{stream}_{''.join(columns)}"


def _rows(run: RowsRun, stream: int) -> list[Pair] | None:
    return cast("list[Pair] | None", run.rows.get(_sink(stream, BOTH)))


def _only(rows: Sequence[Pair], columns: Columns) -> Counter[Cells]:
    return Counter(tuple(row[BOTH.index(name)] for name in columns) for row in rows)
