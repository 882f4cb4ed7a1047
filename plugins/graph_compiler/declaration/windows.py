"""Windows over event time: half-open, `[window_start, window_end)`, in the session's time zone (UTC).

Names are Flink's. Rows with a NULL time are in no window.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

from graph_compiler.declaration.refusals.constructors import HeldToForm
from graph_compiler.errors import Problem
from graph_compiler.identifiers import quoted

_UNITS = ("microsecond", "millisecond", "second", "minute", "hour", "day", "week")
CALENDAR = (*_UNITS, "month", "year")
"""Units that can be added to a time; a window's length cannot have the last two, whose length varies."""


def wrong_interval(text: object, units: Sequence[str] = _UNITS) -> str | None:
    """Return the allowed intervals if Spark cannot parse the text, otherwise None."""
    part = rf"[+-]?\s*\d+(\.\d+)?\s+({'|'.join(units)})s?"
    form = rf"\s*(interval\s+)?{part}(\s+{part})*\s*"
    if isinstance(text, str) and re.fullmatch(form, text, re.IGNORECASE):
        return None
    return f"a number and a unit, as in '10 minutes'; units are {', '.join(units)}"


@dataclass(frozen=True, slots=True)
class Window(metaclass=HeldToForm):
    """The base class; its subclasses are the kinds. `time` is a timestamp column; lengths are like `10 minutes`."""

    time: str

    def lengths(self) -> dict[str, str]:
        """Return its lengths by name."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "time"}

    def problems(self) -> Iterator[Problem]:
        """Yield lengths that are not intervals."""
        for name, text in self.lengths().items():
            if allowed := wrong_interval(text):
                yield Problem(message=f"the {name} of its windows is {text!r}", allowed=allowed)

    def spark_function(self) -> str:
        """Return the Spark function whose struct (start, end) rows are grouped by."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class TumblingEventTimeWindows(Window):
    """Every row is in one window of `size`."""

    size: str

    def spark_function(self) -> str:
        return f"window({quoted(self.time)}, {_text(self.size)})"


@dataclass(frozen=True, slots=True)
class SlidingEventTimeWindows(Window):
    """A window of `size` starts every `slide`; a row is in size / slide of them."""

    size: str
    slide: str

    def spark_function(self) -> str:
        return f"window({quoted(self.time)}, {_text(self.size)}, {_text(self.slide)})"


@dataclass(frozen=True, slots=True)
class EventTimeSessionWindows(Window):
    """Rows of one key whose times are less than `gap` apart; the window ends `gap` after the last."""

    gap: str

    def spark_function(self) -> str:
        return f"session_window({quoted(self.time)}, {_text(self.gap)})"


def _text(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
