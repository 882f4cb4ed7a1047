"""Run a function with keyed state: its states and timers, in memory for a batch job, or in those of Spark for a stream.

    stream   rows of a key in a batch, by time ─▶ process_element ─▶ timers that the watermark has passed ─▶ on_timer
    batch    all rows of a key, by time        ─▶ process_element ─▶ all timers, also those added by then ─▶ on_timer

Rows of equal times come in the order of their columns: a batch that is repeated calls the function in the same order.
Spark calls `SparkProcess` in its Python workers, by the names of arguments that are part of its API.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import chain, groupby, islice
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from pyspark.sql.types import DataType, StructField, StructType

from graph_compiler.declaration.operators.process_functions import (
    LAST_WATERMARK,
    NO_WATERMARK,
    STATES,
    DeclaredState,
    KeyedProcessFunction,
    ListState,
    MapState,
    ProcessContext,
    StateKind,
    TimerService,
    ValueState,
)
from graph_compiler.errors import GraphCompilerError
from graph_compiler.spark_runtime.operators.columns import ColumnsError
from graph_compiler.spark_runtime.operators.state_values import (
    KEY_TYPES,
    VALUE_TYPES,
    StateValueError,
    checked,
    checked_fields,
    from_arrow,
    from_stored,
    is_key_type,
    is_value_type,
    stored_type,
    to_arrow,
    to_stored,
)
from graph_compiler.spark_runtime.spark_internals.versions import arrow_schema

TIME = "graph_compiler_microseconds"
"""The column of the event time in microseconds, behind those of the input; functions and timers have milliseconds."""
MOST_TIMERS = 1_000_000
"""How many timers of a key a batch job fires behind its last row: a function that always adds one would never end."""
_ROWS_OF_A_BATCH = 1000
_LAST_TIME = 253_402_300_799_999
"""The end of the year 9999."""


class TimerError(GraphCompilerError):
    """A function has registered a timer that cannot be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateType:
    """A declared state with its types."""

    declared: DeclaredState
    value: DataType
    key: DataType | None

    @classmethod
    def of(cls, declared: DeclaredState) -> StateType:
        """Return a declared state with its types; raises ColumnsError for those that no state can have."""
        where = f"its state '{declared.name}'"
        value = DataType.fromDDL(declared.value_type)
        if not is_value_type(value):
            raise ColumnsError(f"{where} holds {value.simpleString().upper()}\n  allowed: {VALUE_TYPES}")
        key = None if declared.key_type is None else DataType.fromDDL(declared.key_type)
        if key is not None and not is_key_type(key):
            raise ColumnsError(f"{where} is by {key.simpleString().upper()}\n  allowed: {KEY_TYPES}")
        return cls(declared=declared, value=value, key=key)

    @property
    def what(self) -> str:
        """Return what messages call it."""
        return f"the state '{self.declared.name}'"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessPlan:
    """What a worker needs to call a function: pickled, so its values are plain. `function` is its class, or makes one.

    `name` is what messages call it, by which failures find the operator.
    """

    name: str
    function: Callable[[], object]
    rows: StructType
    key_types: tuple[DataType, ...]
    result: StructType
    states: tuple[StateType, ...]
    has_time: bool

    @property
    def key_columns(self) -> tuple[str, ...]:
        """Return the columns that have the stored values of the key, between those of the rows and their time."""
        return tuple(f"graph_compiler_key_{number}" for number in range(len(self.key_types)))

    def made(self) -> KeyedProcessFunction:
        """Return a new object of the class."""
        found = self.function()
        assert isinstance(found, KeyedProcessFunction), "it was a class that extends it when it was declared"
        return found


# States in memory: of one key at a time.


@dataclass(slots=True)
class MemoryValue(ValueState):
    """A state of one value in memory."""

    type: StateType
    held: Any = None

    def value(self) -> Any:
        return _copied(self.held, self.type.value)

    def update(self, value: Any) -> None:
        self.held = _held(value, self.type)

    def clear(self) -> None:
        self.held = None


@dataclass(slots=True)
class MemoryList(ListState):
    """A state of several values in memory."""

    type: StateType
    held: list[Any] = field(default_factory=list)

    def get(self) -> list[Any]:
        return [_copied(value, self.type.value) for value in self.held]

    def add(self, value: Any) -> None:
        self.held.append(_added(value, self.type))

    def update(self, values: Iterable[Any]) -> None:
        self.held = [_added(value, self.type) for value in values]

    def clear(self) -> None:
        self.held = []


@dataclass(slots=True)
class MemoryMap(MapState):
    """A state of values by key in memory."""

    type: StateType
    held: dict[Any, Any] = field(default_factory=dict)

    def get(self, key: Any) -> Any:
        return _copied(self.held.get(_key(key, self.type)), self.type.value)

    def put(self, key: Any, value: Any) -> None:
        self.held[_key(key, self.type)] = _held(value, self.type)

    def contains(self, key: Any) -> bool:
        return _key(key, self.type) in self.held

    def remove(self, key: Any) -> None:
        self.held.pop(_key(key, self.type), None)

    def items(self) -> list[tuple[Any, Any]]:
        return [(key, _copied(self.held[key], self.type.value)) for key in sorted(self.held)]

    def clear(self) -> None:
        self.held = {}


def _held(value: Any, type: StateType) -> Any:
    return checked(value, type.value, type.what)


def _copied(value: Any, kind: DataType) -> Any:
    """Return a value that a function may change without changing the state, as with one that Spark keeps."""
    return from_stored(to_stored(value, kind), kind)


def _added(value: Any, type: StateType) -> Any:
    if value is None:
        raise StateValueError(f"{type.what} was given None\n  allowed: values, since a list holds no None")
    return _held(value, type)


def _key(key: Any, type: StateType) -> Any:
    assert type.key is not None, "it is a state by key"
    if key is None:
        raise StateValueError(f"{type.what} was given the key None\n  allowed: a value")
    return checked(key, type.key, f"a key of {type.what}")


_IN_MEMORY: Mapping[StateKind, Callable[[StateType], object]] = {
    StateKind.VALUE: MemoryValue,
    StateKind.LIST: MemoryList,
    StateKind.MAP: MemoryMap,
}


# States that Spark keeps: its handles are those of the current key.


@dataclass(slots=True)
class SparkValue(ValueState):
    """A state of one value that Spark keeps."""

    type: StateType
    handle: Any

    def value(self) -> Any:
        found = self.handle.get()
        return None if found is None else from_stored(found[0], self.type.value)

    def update(self, value: Any) -> None:
        if value is None:
            self.handle.clear()
        else:
            self.handle.update((to_stored(_held(value, self.type), self.type.value),))

    def clear(self) -> None:
        self.handle.clear()


@dataclass(slots=True)
class SparkList(ListState):
    """A state of several values that Spark keeps."""

    type: StateType
    handle: Any

    def get(self) -> list[Any]:
        return [from_stored(found[0], self.type.value) for found in self.handle.get()]

    def add(self, value: Any) -> None:
        self.handle.appendValue((self._stored(value),))

    def update(self, values: Iterable[Any]) -> None:
        if found := [(self._stored(value),) for value in values]:
            self.handle.put(found)
        else:
            self.handle.clear()

    def clear(self) -> None:
        self.handle.clear()

    def _stored(self, value: Any) -> Any:
        return to_stored(_added(value, self.type), self.type.value)


@dataclass(slots=True)
class SparkMap(MapState):
    """A state of values by key that Spark keeps."""

    type: StateType
    handle: Any

    def get(self, key: Any) -> Any:
        stored = self._stored(key)
        found = self.handle.getValue(stored) if self.handle.containsKey(stored) else None
        return None if found is None else from_stored(found[0], self.type.value)

    def put(self, key: Any, value: Any) -> None:
        self.handle.updateValue(self._stored(key), (to_stored(_held(value, self.type), self.type.value),))

    def contains(self, key: Any) -> bool:
        return bool(self.handle.containsKey(self._stored(key)))

    def remove(self, key: Any) -> None:
        self.handle.removeKey(self._stored(key))

    def items(self) -> list[tuple[Any, Any]]:
        assert self.type.key is not None, "it is a state by key"
        own = self.type.key
        pairs = [(from_stored(key[0], own), from_stored(found[0], self.type.value)) for key, found in self._pairs()]
        return sorted(pairs, key=lambda pair: pair[0])

    def clear(self) -> None:
        self.handle.clear()

    def _pairs(self) -> list[tuple[Any, Any]]:
        return list(self.handle.iterator()) if self.handle.exists() else []

    def _stored(self, key: Any) -> Any:
        assert self.type.key is not None, "it is a state by key"
        return (to_stored(_key(key, self.type), self.type.key),)


def _spark_state(type: StateType, handle: Any) -> object:
    declared = type.declared
    value = StructType([StructField("value", stored_type(type.value))])
    match declared.kind:
        case StateKind.VALUE:
            return SparkValue(type, handle.getValueState(declared.name, value, declared.milliseconds))
        case StateKind.LIST:
            return SparkList(type, handle.getListState(declared.name, value, declared.milliseconds))
        case StateKind.MAP:
            assert type.key is not None, "it is a state by key"
            key = StructType([StructField("key", stored_type(type.key))])
            return SparkMap(type, handle.getMapState(declared.name, key, value, declared.milliseconds))


# Timers, and what a function can ask.


@dataclass(slots=True, kw_only=True)
class Timers(TimerService):
    """The timers of one key, while its function is called.

    `added` and `removed` are those that the function has registered and deleted since; `registered` has what it was
    called with, until that is taken out. `fires_at` is the time of the timer that fires now, None while rows are
    processed.
    """

    plan: ProcessPlan
    watermark: int
    fires_at: int | None = None
    added: set[int] = field(default_factory=set)
    registered: list[int] = field(default_factory=list)
    removed: set[int] = field(default_factory=set)

    def current_watermark(self) -> int:
        self._check()
        return self.watermark

    def register_event_time_timer(self, timestamp: int) -> None:
        self._check()
        if type(timestamp) is not int or not 0 <= timestamp <= _LAST_TIME:
            raise TimerError(
                f"{self.plan.name} has registered a timer at {timestamp!r}\n"
                "  allowed: whole milliseconds since 1970, up to the year 9999"
            )
        if self.fires_at is not None and timestamp <= self.fires_at:
            raise TimerError(
                f"{self.plan.name} has registered a timer at {timestamp} in on_timer at {self.fires_at}: it would fire "
                "at once, again and again\n  allowed: a later time"
            )
        self.added.add(timestamp)
        self.registered.append(timestamp)
        self.removed.discard(timestamp)

    def delete_event_time_timer(self, timestamp: int) -> None:
        self._check()
        self.added.discard(timestamp)
        self.removed.add(timestamp)

    def _check(self) -> None:
        if not self.plan.has_time:
            raise TimerError(
                f"{self.plan.name} asks for timers, and process was given no time\n"
                '  allowed: process(…, time="at") with the column of the event time'
            )


@dataclass(slots=True, kw_only=True)
class Context(ProcessContext):
    """What a function can ask in one call."""

    key: tuple[Any, ...]
    time: int | None
    timers: Timers

    def timestamp(self) -> int | None:
        return self.time

    def get_current_key(self) -> Any:
        return self.key[0] if len(self.key) == 1 else self.key

    def timer_service(self) -> TimerService:
        return self.timers


@dataclass(slots=True)
class FunctionCalls:
    """Calls of one function, with states that are those of the current key."""

    plan: ProcessPlan
    function: KeyedProcessFunction
    states: Mapping[str, object]

    def __post_init__(self) -> None:
        vars(self.function)[STATES] = self.states

    def rows(self, key: tuple[Any, ...], rows: list[dict[str, Any]], timers: Timers) -> Iterator[dict[str, Any]]:
        """Yield what the function makes of the rows of a key, of which each has its time in microseconds."""
        for row in by_time_and_columns(rows):
            time = row.pop(TIME)
            context = Context(key=key, time=None if time is None else time // 1000, timers=timers)
            yield from self._results(self.function.process_element(row, context), "process_element")

    def timer(self, key: tuple[Any, ...], time: int, timers: Timers) -> Iterator[dict[str, Any]]:
        """Yield what the function makes of a timer."""
        timers.fires_at = time
        context = Context(key=key, time=time, timers=timers)
        yield from self._results(self.function.on_timer(time, context), "on_timer")

    def _results(self, found: Any, method: str) -> Iterator[dict[str, Any]]:
        what = f"what {method} of {self.plan.name} returned"
        if found is None:
            return
        if isinstance(found, Mapping | str | bytes) or not isinstance(found, Iterable):
            raise StateValueError(f"{what} is a {type(found).__name__}\n  allowed: rows, by yield")
        for row in found:
            if not isinstance(row, Mapping):
                raise StateValueError(f"{what} has a {type(row).__name__} as a row\n  allowed: a dict by column")
            yield checked_fields(row, self.plan.result, what)


def by_time_and_columns(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows of one key by their times, those without one first, and rows of equal times by their columns."""

    def place(row: dict[str, Any]) -> tuple[bool, int, str]:
        time = row[TIME]
        return time is not None, time or 0, repr(tuple(row.values()))

    return sorted(rows, key=place)


def in_memory(
    plan: ProcessPlan, groups: Iterable[tuple[tuple[Any, ...], Iterable[dict[str, Any]]]]
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a batch job: of each key, those of all its rows, and then those of all its timers."""
    function = plan.made()
    function.open()
    for key, rows in groups:
        states = {type.declared.name: _IN_MEMORY[type.declared.kind](type) for type in plan.states}
        calls = FunctionCalls(plan, function, states)
        timers = Timers(plan=plan, watermark=NO_WATERMARK)
        yield from calls.rows(key, list(rows), timers)
        timers.watermark = LAST_WATERMARK
        yield from _fired(calls, key, timers)
    function.close()


def _fired(calls: FunctionCalls, key: tuple[Any, ...], timers: Timers) -> Iterator[dict[str, Any]]:
    """Yield the rows of the timers of a key that the watermark has passed, also of those that they add, by time."""
    pending = [time for time in timers.added if time <= timers.watermark]
    heapify(pending)
    timers.registered.clear()
    fired = 0
    while pending:
        time = heappop(pending)
        if time not in timers.added:  # it was deleted, or is there twice
            continue
        timers.added.discard(time)
        yield from calls.timer(key, time, timers)
        while timers.registered:
            if (other := timers.registered.pop()) <= timers.watermark:
                heappush(pending, other)
        fired += 1
        if fired > MOST_TIMERS:
            raise TimerError(
                f"{calls.plan.name} has had {MOST_TIMERS:,} timers of one key at once, since on_timer registers the "
                "next one: a batch job would never end\n"
                "  allowed: timers that end, such as one only while a state is not empty"
            )


def in_batches(plan: ProcessPlan) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return a function over Arrow's batches, whose rows come by key."""

    def batches(found: Iterator[Any]) -> Iterator[Any]:
        first = next(found, None)
        if first is None:
            return
        schema = arrow_schema(plan.result)
        groups = groupby(_rows(plan, chain((first,), found)), key=lambda each: each[0])
        rows = in_memory(plan, ((key, (row for _, row in group)) for key, group in groups))
        while some := [to_arrow(row, plan.result) for row in islice(rows, _ROWS_OF_A_BATCH)]:
            yield type(first).from_pylist(some, schema=schema)

    return batches


def _rows(plan: ProcessPlan, found: Iterable[Any]) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    for batch in found:
        for row in batch.to_pylist():
            yield _key_of(plan, [row[name] for name in plan.key_columns]), _row_of(plan, row)


def _row_of(plan: ProcessPlan, row: Mapping[str, Any]) -> dict[str, Any]:
    found = {field.name: from_arrow(row[field.name], field.dataType) for field in plan.rows}
    return {**found, TIME: row[TIME]}


def _key_of(plan: ProcessPlan, stored: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(from_stored(value, kind) for value, kind in zip(stored, plan.key_types, strict=True))


class SparkProcess(StatefulProcessor):
    """Lets Spark call a function for the rows and timers of each key."""

    def __init__(self, plan: ProcessPlan) -> None:
        self._plan = plan

    def init(self, handle: Any) -> None:
        """Take the states of Spark's handle: on the driver once for each run, and in each task."""
        self._handle = handle
        states = {type.declared.name: _spark_state(type, handle) for type in self._plan.states}
        self._calls = FunctionCalls(self._plan, self._plan.made(), states)
        self._fired: set[tuple[tuple[Any, ...], int]] = set()
        self._is_open = False

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803  # Spark's
        """Process the rows of a key in a batch."""
        calls, timers = self._begin(timerValues)
        names = [*self._plan.rows.names, *self._plan.key_columns, TIME]
        found = [_row_of(self._plan, dict(zip(names, row, strict=True))) for row in rows]
        made = list(calls.rows(_key_of(self._plan, key), found, timers))
        self._keep(timers)
        return self._as_rows(made)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802, N803
        """Fire all timers of a key that the watermark has passed, by time: Spark would fire those that are added later.

        Spark calls this for each of them, which then has been done.
        """
        stored, time = tuple(key), expiredTimerInfo.getExpiryTimeInMs()
        if (stored, time) in self._fired:
            return iter(())
        calls, timers = self._begin(timerValues)
        timers.added = {each for each in self._handle.listTimers() if each <= timers.watermark}
        passed = set(timers.added)
        self._fired.update((stored, each) for each in passed)
        made = list(_fired(calls, _key_of(self._plan, stored), timers))
        timers.removed |= passed - {time}  # Spark removes the one that it has called for
        self._keep(timers)
        return self._as_rows(made)

    def close(self) -> None:
        """End the function."""
        if self._is_open:
            self._calls.function.close()

    def _begin(self, values: Any) -> tuple[FunctionCalls, Timers]:
        if not self._is_open:
            self._is_open = True
            self._calls.function.open()
        watermark = values.getCurrentWatermarkInMs() if self._plan.has_time else 0
        return self._calls, Timers(plan=self._plan, watermark=watermark if watermark > 0 else NO_WATERMARK)

    def _keep(self, timers: Timers) -> None:
        there = set(self._handle.listTimers()) if timers.removed else set()
        for time in sorted(timers.removed & there):  # Spark warns of others
            self._handle.deleteTimer(time)
        for time in sorted(timers.added):
            self._handle.registerTimer(time)

    def _as_rows(self, made: Iterable[dict[str, Any]]) -> Iterator[Row]:
        return iter([Row(**to_arrow(row, self._plan.result)) for row in made])
