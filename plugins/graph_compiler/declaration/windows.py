"""Windows over event time: half-open, `[window_start, window_end)`, in the session's time zone (UTC).

Names are Flink's. Rows with a NULL time are in no window. Windows begin at 1970-01-01 00:00, a Thursday, and at every
`size` (or `slide`) before and after it; with `offset`, as much later.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from datetime import timedelta
from enum import StrEnum

from graph_compiler.declaration.refusals.constructors import HeldToForm
from graph_compiler.errors import Problem
from graph_compiler.extensions import UNSAID
from graph_compiler.identifiers import quoted


class Flush(StrEnum):
    """`execution.flush`: up to which time the end of a run completes what waits for a watermark."""

    NONE = "NONE"
    """What its rows have passed; other windows wait for later runs."""
    DATA_INTERVAL_END = "DATA_INTERVAL_END"
    """The end of the run's data interval."""
    END = "END"
    """The end of time: the stream ends, as one that Flink drains."""


_UNITS = ("microsecond", "millisecond", "second", "minute", "hour", "day", "week")
_OF_MONTHS = ("month", "year")
CALENDAR = (*_UNITS, "month", "year")
"""Units that can be added to a time; a window's length cannot have the last two, whose length varies."""


def wrong_interval(text: object, units: Sequence[str] = _UNITS) -> str | None:
    """Return the allowed intervals if Spark cannot parse the text, otherwise None."""
    months = [unit for unit in units if unit in _OF_MONTHS]
    others = [unit for unit in units if unit not in _OF_MONTHS]
    if isinstance(text, str) and any(_is_interval(text, alike) for alike in (months, others) if alike):
        return None
    alone = f"; {' and '.join(months)} are not beside others" if months else ""
    known = f"units are {', '.join(units)}; seconds may have a fraction{alone}"
    return f"a whole number and a unit, as in '10 minutes'; {known}"


def _is_interval(text: str, units: Sequence[str]) -> bool:
    part = rf"[+-]?\s*(\d+\s+({'|'.join(units)})s?|\d+\.\d+\s+seconds?)"
    return re.fullmatch(rf"\s*(interval\s+)?{part}(\s+{part})*\s*", text, re.IGNORECASE) is not None


WEEK = timedelta(weeks=1)
_PART = re.compile(rf"([+-]?)\s*(\d+(?:\.\d+)?)\s+({'|'.join(_UNITS)})", re.IGNORECASE)


def duration_of(text: str) -> timedelta:
    """Return the length of an interval that `wrong_interval` allows: `1 day 12 hours`."""
    found = timedelta()
    for sign, number, unit in _PART.findall(text):
        part = float(number) * timedelta(**{f"{unit.lower()}s": 1})
        found += -part if sign == "-" else part
    return found


@dataclass(frozen=True, slots=True)
class Window(metaclass=HeldToForm):
    """The base class; its subclasses are the kinds. `time` is a timestamp column; lengths are like `10 minutes`."""

    time: str

    def lengths(self) -> dict[str, str]:
        """Return its lengths by name, without an offset that is not set."""
        found = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "time"}
        return {name: text for name, text in found.items() if name != "offset" or text is not None}

    @property
    def step(self) -> str | None:
        """The time from the begin of a window to that of the next; None if that depends on the rows."""
        return None

    def problems(self) -> Iterator[Problem]:
        """Yield lengths that are not intervals."""
        wrong = False
        for name, text in self.lengths().items():
            if allowed := wrong_interval(text):
                wrong = True
                yield Problem(message=f"the {name} of its windows is {text!r}", allowed=allowed)
        if wrong or self.step is None or (offset := self.lengths().get("offset")) is None:
            return
        if abs(duration_of(offset)) >= duration_of(self.step):
            yield Problem(
                message=f"the offset of its windows is {offset!r}, and a window begins every {self.step}",
                allowed=f"less than {self.step}, in both directions",
            )

    def spark_function(self) -> str:
        """Return the Spark function whose struct (start, end) rows are grouped by."""
        raise NotImplementedError

    def last_end(self) -> str:
        """Return SQL of when the last window of a row ends, in microseconds since 1970; NULL for a row in no window."""
        raise NotImplementedError

    @property
    def _micros(self) -> str:
        return f"unix_micros({quoted(self.time)})"


@dataclass(frozen=True, slots=True)
class TumblingEventTimeWindows(Window):
    """Every row is in one window of `size`; windows begin `offset` later: a week from Monday on has `4 days`."""

    size: str
    offset: str | None = field(default=None, metadata={UNSAID: True})

    @property
    def step(self) -> str | None:
        return self.size

    def spark_function(self) -> str:
        begins = "" if self.offset is None else f", {_text(self.size)}, {_text(self.offset)}"
        return f"window({quoted(self.time)}, {_text(self.size)}{begins})"

    def last_end(self) -> str:
        return _last_end(self._micros, self.size, self.size, self.offset)


@dataclass(frozen=True, slots=True)
class SlidingEventTimeWindows(Window):
    """A window of `size` starts every `slide`; a row is in size / slide of them. They begin `offset` later."""

    size: str
    slide: str
    offset: str | None = field(default=None, metadata={UNSAID: True})

    @property
    def step(self) -> str | None:
        return self.slide

    def spark_function(self) -> str:
        begins = "" if self.offset is None else f", {_text(self.offset)}"
        return f"window({quoted(self.time)}, {_text(self.size)}, {_text(self.slide)}{begins})"

    def last_end(self) -> str:
        return _last_end(self._micros, self.size, self.slide, self.offset)


@dataclass(frozen=True, slots=True)
class EventTimeSessionWindows(Window):
    """Rows of one key whose times are less than `gap` apart; the window ends `gap` after the last."""

    gap: str

    def spark_function(self) -> str:
        return f"session_window({quoted(self.time)}, {_text(self.gap)})"

    def last_end(self) -> str:
        """Return when the window ends that the row begins by itself: Spark looks at it before it joins windows."""
        return f"{self._micros} + {_micros_of(self.gap)}"


def _last_end(micros: str, size: str, step: str, offset: str | None) -> str:
    """Return the end of the last window that begins at or before a time, as Spark's `window` computes it."""
    begins = 0 if offset is None else _micros_of(offset)
    return f"{micros} - pmod({micros} - ({begins}), {_micros_of(step)}) + {_micros_of(size)}"


def _micros_of(text: str) -> int:
    return duration_of(text) // timedelta(microseconds=1)


def _text(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
