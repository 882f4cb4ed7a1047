"""The Spark function for each window; `tests/spark/operators` compares the rows."""

import pytest

from graph_compiler import EventTimeSessionWindows, SlidingEventTimeWindows, TumblingEventTimeWindows
from graph_compiler.declaration.windows import Window


@pytest.mark.parametrize(
    ("window", "function"),
    [
        (TumblingEventTimeWindows("at", "1 hour"), "window(`at`, '1 hour')"),
        (SlidingEventTimeWindows("at", "1 hour", "5 minutes"), "window(`at`, '1 hour', '5 minutes')"),
        (EventTimeSessionWindows("the time", "30 seconds"), "session_window(`the time`, '30 seconds')"),
        (EventTimeSessionWindows("a`b", "it's \\"), r"session_window(`a``b`, 'it\'s \\')"),
    ],
)  # fmt: skip
def test_a_window_is_a_function_of_sparks(window: Window, function: str) -> None:
    assert window.spark_function() == function
