"""Windows over event time: half-open, `[window_start, window_end)`, in the session's time zone (UTC).

Names are Flink's. Rows whose time is NULL are in no window.
"""

from __future__ import annotations

from dataclasses import dataclass

from graph_compiler.identifiers import quoted


@dataclass(frozen=True, slots=True)
class Window:
    """Common shape; the leaves below are the kinds. `time` is a time stamp column; lengths read `10 minutes`."""

    time: str

    def spark_function(self) -> str:
        """Give the Spark function whose struct (start, end) rows are grouped by."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class TumblingEventTimeWindows(Window):
    """Every row is in one window of `size`."""

    size: str

    def spark_function(self) -> str:
        """Give `window(time, size)`."""
        return f"window({quoted(self.time)}, {_text(self.size)})"


@dataclass(frozen=True, slots=True)
class SlidingEventTimeWindows(Window):
    """A window of `size` begins every `slide`; a row is in size / slide of them."""

    size: str
    slide: str

    def spark_function(self) -> str:
        """Give `window(time, size, slide)`."""
        return f"window({quoted(self.time)}, {_text(self.size)}, {_text(self.slide)})"


@dataclass(frozen=True, slots=True)
class EventTimeSessionWindows(Window):
    """Rows of one key whose times are less than `gap` apart; the window ends `gap` after the last."""

    gap: str

    def spark_function(self) -> str:
        """Give `session_window(time, gap)`."""
        return f"session_window({quoted(self.time)}, {_text(self.gap)})"


def _text(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
