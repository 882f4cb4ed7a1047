"""Functions with keyed state and timers, as in Flink: what a user's class extends, and the state that it declares.

    class Visits(KeyedProcessFunction):
        count = ValueStateDescriptor("BIGINT")

        def process_element(self, value, ctx):
            self.count.update((self.count.value() or 0) + 1)
            ctx.timer_service().register_event_time_timer(ctx.timestamp() + 60_000)

        def on_timer(self, timestamp, ctx):
            yield {"user": ctx.get_current_key(), "visits": self.count.value()}

State is declared in the class, and not when the function runs: so a changed state is known before a row moves. Times
are milliseconds since 1970. Rows are dicts by the names of columns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar, overload

from graph_compiler.declaration.refusals.constructors import HeldToForm
from graph_compiler.declaration.windows import duration_of, wrong_interval
from graph_compiler.errors import Problem

Row: TypeAlias = Mapping[str, Any]
Handle = TypeVar("Handle")
NO_WATERMARK = -(2**63)
"""The watermark before there is one, and in a batch before all rows of a key were processed (Flink's minimum)."""
LAST_WATERMARK = 2**63 - 1
"""The watermark behind all rows of a batch (Flink's maximum)."""


class ValueState(ABC):
    """One value of the current key."""

    @abstractmethod
    def value(self) -> Any:
        """Return the value, None if there is none."""

    @abstractmethod
    def update(self, value: Any) -> None:
        """Replace the value; None removes it."""

    @abstractmethod
    def clear(self) -> None:
        """Remove the value."""


class ListState(ABC):
    """Several values of the current key, in the order in which they were added."""

    @abstractmethod
    def get(self) -> list[Any]:
        """Return the values."""

    @abstractmethod
    def add(self, value: Any) -> None:
        """Add a value behind the others."""

    @abstractmethod
    def update(self, values: Iterable[Any]) -> None:
        """Replace all values."""

    @abstractmethod
    def clear(self) -> None:
        """Remove all values."""


class MapState(ABC):
    """Values of the current key by a key of their own; it is iterated over in the order of these."""

    @abstractmethod
    def get(self, key: Any) -> Any:
        """Return the value of a key, None if it has none."""

    @abstractmethod
    def put(self, key: Any, value: Any) -> None:
        """Add or replace the value of a key."""

    @abstractmethod
    def contains(self, key: Any) -> bool:
        """Whether a key has a value, which may be None."""

    @abstractmethod
    def remove(self, key: Any) -> None:
        """Remove a key and its value, if it is there."""

    @abstractmethod
    def items(self) -> list[tuple[Any, Any]]:
        """Return all keys and values."""

    @abstractmethod
    def clear(self) -> None:
        """Remove all keys and values."""

    def keys(self) -> list[Any]:
        """Return all keys."""
        return [key for key, _ in self.items()]

    def values(self) -> list[Any]:
        """Return all values."""
        return [value for _, value in self.items()]

    def is_empty(self) -> bool:
        """Whether it has no keys."""
        return not self.items()


class StateBackendType(StrEnum):
    """`state.backend.type`: where Spark keeps the states of a stream's operators."""

    HASHMAP = "hashmap"
    """In the memory of executors: `HDFSBackedStateStoreProvider`, Spark's default."""
    ROCKSDB = "rocksdb"
    """On their disks, by RocksDB."""


class StateKind(StrEnum):
    """What a state holds for a key."""

    VALUE = "VALUE"
    LIST = "LIST"
    MAP = "MAP"


@dataclass(frozen=True, slots=True)
class StateTtlConfig(metaclass=HeldToForm):
    """How long a value is kept after it was written, by the clock: `StateTtlConfig("7 days")`."""

    ttl: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredState:
    """A state of a function's class: its name, and Spark's types of what it holds."""

    name: str
    kind: StateKind
    value_type: str
    key_type: str | None
    time_to_live: str | None

    @property
    def milliseconds(self) -> int | None:
        """How long a value is kept, None if it is kept until it is removed."""
        return None if self.time_to_live is None else round(duration_of(self.time_to_live).total_seconds() * 1000)

    def problems(self) -> Iterator[Problem]:
        """Yield a time to live that is no length."""
        if self.time_to_live is not None:
            message = f"the time to live of its state '{self.name}' is {self.time_to_live!r}"
            if allowed := wrong_interval(self.time_to_live):
                yield Problem(message=message, allowed=allowed)
            elif (self.milliseconds or 0) < 1:
                yield Problem(message=message, allowed="at least 1 millisecond")


class StateDescriptor(Generic[Handle], metaclass=HeldToForm):
    """The base class of states that a function's class declares; a function reads `self.name` as its state."""

    kind: ClassVar[StateKind]
    value_type: str
    key_type: str | None = None
    ttl: StateTtlConfig | None
    name: str = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, function: None, owner: type) -> StateDescriptor[Handle]: ...
    @overload
    def __get__(self, function: KeyedProcessFunction, owner: type) -> Handle: ...

    def __get__(self, function: KeyedProcessFunction | None, owner: type) -> StateDescriptor[Handle] | Handle:
        """Return the state of the current key of a function; the descriptor itself of a class."""
        if function is None:
            return self
        handle: Handle = vars(function)[STATES][self.name]
        return handle

    def __set__(self, function: KeyedProcessFunction, value: object) -> None:
        """Refuse to replace a state by a value, which would be forgotten."""
        raise AttributeError(f"'{self.name}' is a state: call its methods, such as update(…)")

    @property
    def declared(self) -> DeclaredState:
        """Return it as a value."""
        return DeclaredState(
            name=self.name,
            kind=self.kind,
            value_type=self.value_type,
            key_type=self.key_type,
            time_to_live=None if self.ttl is None else self.ttl.ttl,
        )


class ValueStateDescriptor(StateDescriptor[ValueState]):
    """Declares a state of one value: `total = ValueStateDescriptor("BIGINT")`."""

    kind: ClassVar[StateKind] = StateKind.VALUE

    def __init__(self, value_type: str, *, ttl: StateTtlConfig | None = None) -> None:
        self.value_type = value_type
        self.ttl = ttl


class ListStateDescriptor(StateDescriptor[ListState]):
    """Declares a state of several values: `pages = ListStateDescriptor("STRING")`."""

    kind: ClassVar[StateKind] = StateKind.LIST

    def __init__(self, value_type: str, *, ttl: StateTtlConfig | None = None) -> None:
        self.value_type = value_type
        self.ttl = ttl


class MapStateDescriptor(StateDescriptor[MapState]):
    """Declares a state of values by key: `seen = MapStateDescriptor("STRING", "BIGINT")`."""

    kind: ClassVar[StateKind] = StateKind.MAP

    def __init__(self, key_type: str, value_type: str, *, ttl: StateTtlConfig | None = None) -> None:
        self.key_type = key_type
        self.value_type = value_type
        self.ttl = ttl


STATES = "graph_compiler_states"
"""The attribute of a running function that has the states of the current key, by name."""


class TimerService(ABC):
    """Timers of the current key. A timer is there once for each time."""

    @abstractmethod
    def current_watermark(self) -> int:
        """Return the time that the watermark has passed; a very small number before there is one."""

    @abstractmethod
    def register_event_time_timer(self, timestamp: int) -> None:
        """Call `on_timer` when the watermark has passed a time."""

    @abstractmethod
    def delete_event_time_timer(self, timestamp: int) -> None:
        """Remove the timer of a time, if it is there."""


class ProcessContext(ABC):
    """What a function can ask besides the row: Flink's `Context` and `OnTimerContext`."""

    @abstractmethod
    def timestamp(self) -> int | None:
        """Return the event time of the row, or the time of the timer; None for a row without one."""

    @abstractmethod
    def get_current_key(self) -> Any:
        """Return the key: its value, or a tuple of values for several columns."""

    @abstractmethod
    def timer_service(self) -> TimerService:
        """Return the timers of the key."""


class KeyedProcessFunction:
    """The base class of functions with state by key: `key_by("user").process(Visits, schema=…, time="at")`."""

    def open(self) -> None:
        """Prepare the function, before its first row in a task. No state can be read here."""

    def process_element(self, value: Row, ctx: ProcessContext) -> Iterable[Row] | None:
        """Process one row, and return or yield rows of the output."""
        raise NotImplementedError

    def on_timer(self, timestamp: int, ctx: ProcessContext) -> Iterable[Row] | None:  # noqa: ARG002  # for subclasses
        """React to a timer, and return or yield rows of the output."""
        return None

    def close(self) -> None:
        """End the function, behind its last row in a task."""


def declared_states(kind: type[KeyedProcessFunction]) -> tuple[DeclaredState, ...]:
    """Return the states that a class and its bases declare, by name."""
    found: dict[str, DeclaredState | None] = {}
    for base in reversed(kind.__mro__):
        for name, value in vars(base).items():
            if isinstance(value, StateDescriptor):
                found[name] = value.declared
            elif name in found:  # a subclass has something else under that name
                found[name] = None
    return tuple(state for _, state in sorted(found.items()) if state is not None)
