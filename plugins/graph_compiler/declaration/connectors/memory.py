"""Rows that are not stored: for tests, for small constants, and from and to functions of the user."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import ClassVar, TypeAlias

from graph_compiler.declaration.connectors.connector import Connector, SinkMode, WhenReadTwice
from graph_compiler.declaration.functions import FunctionRef, why_not_callable
from graph_compiler.declaration.windows import duration_of, wrong_interval
from graph_compiler.errors import FunctionNotImportableError, Problem
from graph_compiler.identifiers import listing, shown

Cell: TypeAlias = bool | int | float | str | tuple[bool | int | float | str | None, ...] | None
"""A cell as it is stored; days, moments and decimals are text."""
GivenCell: TypeAlias = (
    bool | int | float | str | date | Decimal | Sequence[bool | int | float | str | date | Decimal | None] | None
)
_SPARK_MODULES = ("graph_compiler.spark_runtime.connectors.memory",)
_FORMATS = "graph_compiler.spark_runtime.connectors.arriving.format_source"
_OF_FIXED_LENGTH = ("day", "hour", "minute", "second", "millisecond")
_MOST_ROWS = 1_000_000_000
_LONGEST = timedelta(days=36_500) // timedelta(milliseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, init=False)
class Values(Connector):
    """Rows in the declaration itself: `Values([("a", 1), ("b", None)], "k STRING, v INT")`.

    A cell is None, bool, int, float, str, `date`, `datetime` or `Decimal`, or a list of these for an ARRAY, and is cast
    to its column's type (`"2013-01-31"` to DATE). MAP, STRUCT and arrays of arrays are not supported.
    """

    spark_modules: ClassVar[tuple[str, ...]] = _SPARK_MODULES
    when_read_twice: ClassVar[WhenReadTwice] = WhenReadTwice.SAME
    rows: tuple[tuple[Cell, ...], ...]

    def __init__(
        self, rows: Iterable[Sequence[GivenCell]], schema: str | None, *, on_schema_change: str | None = None
    ) -> None:
        object.__setattr__(self, "rows", _rows(rows))
        object.__setattr__(self, "schema", schema)
        object.__setattr__(self, "on_schema_change", on_schema_change)

    def problems(self) -> Iterator[Problem]:
        """Yield rows without a schema, of different lengths, or with cells of unsupported types."""
        if not _is_table(self.rows):
            yield Problem(message=f"its rows are {shown(self.rows)}", allowed="a list of rows")
            return
        if self.schema is None:
            yield Problem(message="its rows have no schema", allowed="Spark DDL: k STRING, v INT")
        if len({len(row) for row in self.rows}) > 1:
            lengths = sorted({len(row) for row in self.rows})
            words = f"its rows have different lengths: {listing(map(str, lengths))} cells"
            yield Problem(message=words, allowed="rows of equal length")
        cells = [cell for row in self.rows for cell in row]
        items = [item for cell in cells for item in (cell if isinstance(cell, tuple) else (cell,))]
        odd = [item for item in items if not isinstance(item, bool | int | float | str | None)]
        if odd:
            message = f"it holds {shown(odd[0])}, a {type(odd[0]).__name__}"
            yield Problem(
                message=message, allowed="None, bool, int, float, str, date, datetime, Decimal, lists of these"
            )


def _is_table(rows: object) -> bool:
    return isinstance(rows, tuple) and all(isinstance(row, list | tuple) for row in rows)


def _rows(rows: Iterable[Sequence[GivenCell]]) -> tuple[tuple[Cell, ...], ...]:
    """Return rows as tuples; any other value is kept, and the compiler refuses it."""
    found = tuple(rows) if isinstance(rows, Iterable) else rows
    if not _is_table(found):
        return found  # type: ignore[return-value]
    return tuple(tuple(map(_stored, row)) for row in found)


def _stored(cell: GivenCell) -> Cell:
    """Return a cell as documents have it; any other value is kept, as above."""
    if isinstance(cell, list | tuple):
        return tuple(map(_stored, cell))  # type: ignore[arg-type]  # a list in a list is refused
    if isinstance(cell, datetime):
        return cell.isoformat(sep=" ")
    if isinstance(cell, date):
        return cell.isoformat()
    return f"{cell:f}" if isinstance(cell, Decimal) and cell.is_finite() else cell  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class Range(Connector):
    """Whole numbers from `start` to below `end`, in the column `id` (BIGINT)."""

    spark_modules: ClassVar[tuple[str, ...]] = _SPARK_MODULES
    when_read_twice: ClassVar[WhenReadTwice] = WhenReadTwice.SAME
    start: int
    end: int
    step: int = field(default=1)

    def problems(self) -> Iterator[Problem]:
        """Yield a step of 0, which would make the range infinite."""
        if not self.step:
            yield Problem(message="its step is 0", allowed="any other whole number")


@dataclass(frozen=True, slots=True)
class Rate(Connector):
    """Numbers that never end, for tests and demonstrations: each run has the next `rows_per_batch` of them.

    Its columns are `timestamp` (TIMESTAMP) and `value` (BIGINT), from 0 on. All rows of a run have one time: `start` in
    the first run, and `advance` later in each following one. So rows depend on no clock. `start` is ISO, in UTC if it
    has no offset.

    Without `unbounded=True`, it has the rows of the first run.
    """

    spark_modules: ClassVar[tuple[str, ...]] = (*_SPARK_MODULES, _FORMATS)
    when_read_twice: ClassVar[WhenReadTwice] = WhenReadTwice.SAME
    arrives_as: ClassVar[str | None] = "rows"
    never_rendered: ClassVar[tuple[str, ...]] = (*Connector.never_rendered, "start", "advance")
    rows_per_batch: int
    start: str = field(default="1970-01-01", kw_only=True)
    advance: str = field(default="1 second", kw_only=True)

    def problems(self) -> Iterator[Problem]:
        """Yield numbers and times that Spark's source does not have, and a schema."""
        if not isinstance(self.rows_per_batch, int) or not 0 < self.rows_per_batch <= _MOST_ROWS:
            yield Problem(message=f"it has {shown(self.rows_per_batch)} rows per batch", allowed=f"1 to {_MOST_ROWS:,}")
        if _moment(self.start) < _EPOCH:
            yield Problem(message=f"its start is {shown(self.start)}", allowed="'2024-01-01', '2024-01-01T12:00:00Z'")
        if wrong_interval(self.advance, _OF_FIXED_LENGTH) or not 0 <= self.advance_milliseconds <= _LONGEST:
            yield Problem(message=f"its advance is {shown(self.advance)}", allowed="'1 minute', '0 seconds', '1 day'")
        if self.schema is not None or self.on_schema_change is not None:
            yield Problem(message="it has a schema", allowed="its columns: timestamp TIMESTAMP, value BIGINT")

    def unbounded_problems(self) -> Iterator[Problem]:
        """Yield nothing: it never ends."""
        yield from ()

    def what_arrives(self) -> Rate:
        """Return it without what only determines the batches to come."""
        return replace(self, rows_per_batch=1, advance="0 seconds")

    @property
    def first_run(self) -> datetime:
        """Return the time of the rows of the first run."""
        return _moment(self.start)

    @property
    def start_milliseconds(self) -> int:
        """Return the time of the first run, since 1970."""
        return (self.first_run - _EPOCH) // timedelta(milliseconds=1)

    @property
    def advance_milliseconds(self) -> int:
        """Return how much later each following run is."""
        return duration_of(self.advance) // timedelta(milliseconds=1)


def _moment(text: object) -> datetime:
    """Return a time in UTC; for any other text, one before 1970."""
    try:
        found = datetime.fromisoformat(str(text))
        return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return _EPOCH - timedelta(days=1)


@dataclass(frozen=True, slots=True, init=False)
class FunctionSource(Connector):
    """The result of an importable function from SparkSession to DataFrame, for sources without a connector.

    With `unbounded=True`, it returns what `spark.readStream` loads, of any format, also one that it registers itself
    (`spark.dataSource.register`). Each batch is there once if the format has the same rows between two offsets.

    Raises FunctionNotImportableError for a function that Spark cannot import by its name, such as a lambda.
    """

    spark_modules: ClassVar[tuple[str, ...]] = (*_SPARK_MODULES, _FORMATS)
    arrives_as: ClassVar[str | None] = "rows"
    function: FunctionRef

    def __init__(
        self,
        function: Callable[..., object] | FunctionRef,
        *,
        schema: str | None = None,
        on_schema_change: str | None = None,
    ) -> None:
        object.__setattr__(self, "function", _reference(function, "FunctionSource", "spark"))
        object.__setattr__(self, "schema", schema)
        object.__setattr__(self, "on_schema_change", on_schema_change)

    def unbounded_problems(self) -> Iterator[Problem]:
        """Yield nothing: the function may return a stream."""
        yield from ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkRun:
    """What a `FunctionSink` is called for: its second argument.

    `id` is the same in each attempt of a run, so that rows which are delivered again can replace those of before;
    `attempt_id` differs. `pipeline` has the Dag behind an @ if that is not the pipeline's own.
    """

    id: str
    attempt_id: str
    pipeline: str
    run_id: str


@dataclass(frozen=True, slots=True, init=False)
class FunctionSink(Connector):
    """Hands the rows to an importable function, `send(rows, run)`, for targets without a connector.

    `rows` is a DataFrame, `run` a `SinkRun`. The rows are written to the staging root first. The function is called on
    the driver when all other sinks of its region are published. It is called again if it fails, or if its driver dies
    before that it has returned is recorded: each row is delivered at least once.

    Raises FunctionNotImportableError for a function that Spark cannot import by its name, such as a lambda.
    """

    spark_modules: ClassVar[tuple[str, ...]] = _SPARK_MODULES
    sink_modes: ClassVar[tuple[SinkMode, ...]] = (SinkMode.APPEND,)
    is_published_last: ClassVar[bool] = True
    delivery: ClassVar[str | None] = "at least once: if it fails, or its driver dies, the next attempt calls it again"
    function: FunctionRef

    def __init__(
        self,
        function: Callable[..., object] | FunctionRef,
        *,
        schema: str | None = None,
        on_schema_change: str | None = None,
    ) -> None:
        object.__setattr__(self, "function", _reference(function, "FunctionSink", "rows", "run"))
        object.__setattr__(self, "schema", schema)
        object.__setattr__(self, "on_schema_change", on_schema_change)

    def why_not_readable(self) -> str | None:
        return "FunctionSink can only be written"


def _reference(function: Callable[..., object] | FunctionRef, kind: str, *arguments: str) -> FunctionRef:
    if isinstance(function, FunctionRef):
        return function
    try:
        reference = FunctionRef.of(function)
        if reason := why_not_callable(function, len(arguments)):
            raise FunctionNotImportableError(reason, allowed=f"a function of ({', '.join(arguments)})")
        return reference
    except FunctionNotImportableError as error:
        message = f"{kind} cannot take this function: {error}"
        raise FunctionNotImportableError(message, hint=error.hint, allowed=error.allowed) from None
