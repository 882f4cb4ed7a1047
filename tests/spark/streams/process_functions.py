"""Functions with state that streams call."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from graph_compiler import (
    KeyedProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from graph_compiler.declaration.operators.process_functions import ProcessContext, Row

MINUTE = 60_000


class Visits(KeyedProcessFunction):
    """Emits a visit of a user when no row has come for some minutes of event time, whatever the order of its rows."""

    starts = MapStateDescriptor("BIGINT", "STRUCT<last: BIGINT, ids: ARRAY<INT>>")

    def __init__(self, minutes: int = 10) -> None:
        self.gap = minutes * MINUTE

    def process_element(self, value: Row, ctx: ProcessContext) -> None:
        at = ctx.timestamp()
        if at is None:
            return
        first, last, ids = at, at, [value["id"]]
        for start, visit in self.starts.items():
            if start - self.gap < at < visit["last"] + self.gap:
                first, last, ids = min(first, start), max(last, visit["last"]), ids + visit["ids"]
                self.starts.remove(start)
                ctx.timer_service().delete_event_time_timer(visit["last"] + self.gap)
        self.starts.put(first, {"last": last, "ids": sorted(ids)})
        ctx.timer_service().register_event_time_timer(last + self.gap)

    def on_timer(self, timestamp: int, ctx: ProcessContext) -> Iterator[Row]:
        for start, visit in self.starts.items():
            if visit["last"] + self.gap == timestamp:
                self.starts.remove(start)
                yield {"user": ctx.get_current_key(), "minute": start // MINUTE, "ids": visit["ids"]}


class Reminders(KeyedProcessFunction):
    """Fires three timers for each row, of which each registers the next one, all at different times."""

    left = MapStateDescriptor("BIGINT", "INT")

    def process_element(self, value: Row, ctx: ProcessContext) -> Iterator[Row]:
        at = ctx.timestamp()
        if at is None:
            yield {"user": ctx.get_current_key(), "what": "no time", "at": None, "ids": [value["id"]]}
            return
        first = at + int(value["id"])
        self.left.put(first, 3)
        ctx.timer_service().register_event_time_timer(first)

    def on_timer(self, timestamp: int, ctx: ProcessContext) -> Iterator[Row]:
        left = self.left.get(timestamp)
        self.left.remove(timestamp)
        yield {"user": ctx.get_current_key(), "what": f"{left} left", "at": timestamp, "ids": None}
        if left > 1:
            following = timestamp + 7 * MINUTE + 1000
            self.left.put(following, left - 1)
            ctx.timer_service().register_event_time_timer(following)


class Counts(KeyedProcessFunction):
    """Emits how many rows a user has had, and their ids."""

    count = ValueStateDescriptor("INT")
    lately = ListStateDescriptor("INT")

    def process_element(self, value: Row, ctx: ProcessContext) -> Iterator[Row]:
        self.count.update((self.count.value() or 0) + 1)
        self.lately.add(value["id"])
        yield {"user": ctx.get_current_key(), "n": self.count.value(), "ids": self.lately.get()}


class Forgetful(KeyedProcessFunction):
    """Emits how many rows a user has had lately, by a state of each kind; the time to live is some seconds."""

    count = ValueStateDescriptor("INT", ttl=StateTtlConfig("20 seconds"))
    lately = ListStateDescriptor("INT", ttl=StateTtlConfig("20 seconds"))
    known = MapStateDescriptor("INT", "INT", ttl=StateTtlConfig("20 seconds"))
    ever = ValueStateDescriptor("INT")

    def process_element(self, value: Row, ctx: ProcessContext) -> Iterator[Row]:
        self.count.update((self.count.value() or 0) + 1)
        self.ever.update((self.ever.value() or 0) + 1)
        self.lately.add(value["id"])
        self.known.put(value["id"], 1)
        ids = sorted({*self.lately.get(), *self.known.keys()})
        yield {"user": ctx.get_current_key(), "n": self.count.value(), "ever": self.ever.value(), "ids": ids}


TYPES = (
    "i INT, l BIGINT, s STRING, b BINARY, d DATE, t TIMESTAMP, n TIMESTAMP_NTZ, c DECIMAL(12,3), f DOUBLE, o BOOLEAN, "
    "a ARRAY<DATE>, m MAP<STRING, TIMESTAMP>, r STRUCT<x: INT, y: DATE>"
)


class Keeper(KeyedProcessFunction):
    """Emits the values of the row before, of all types, as its state has had them."""

    one = ValueStateDescriptor(f"STRUCT<{TYPES}>")
    several = ListStateDescriptor("DATE")
    by_time = MapStateDescriptor("TIMESTAMP", "DATE")

    def process_element(self, value: Row, ctx: ProcessContext) -> Iterator[Row]:
        row = {name: value[name] for name in value if name not in ("user", "id", "of_day", "of_time")}
        before: Any = self.one.value()
        self.one.update(row)
        assert self.one.value() == row, "a state returns what it was given"
        assert not self.by_time.contains(value["t"])
        self.by_time.put(value["t"], value["d"])
        self.by_time.put(BEFORE, None)
        assert self.by_time.get(value["t"]) == value["d"]
        assert self.by_time.contains(BEFORE)
        assert self.by_time.get(BEFORE) is None
        assert self.by_time.keys() == sorted(self.by_time.keys())
        self.by_time.remove(BEFORE)
        self.several.update([*self.several.get(), value["d"]])
        yield {"key": f"{ctx.get_current_key()}", "id": value["id"], "ds": self.several.get(), **(before or NOTHING)}


BEFORE = datetime(1600, 1, 1, 1, 2, 3, 4, tzinfo=UTC)
NOTHING = dict.fromkeys("ilsbdtncfoamr")
"""No value of each column."""


class Wrong(KeyedProcessFunction):
    """Returns a fraction for a whole number, and None for 0."""

    def process_element(self, value: Row, ctx: ProcessContext) -> Iterator[Row]:
        yield {"user": ctx.get_current_key(), "n": value["id"] + 0.5 if value["id"] else None}
