"""Limit a Spark application's output in Airflow's log to its beginning and its end."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

BEGINNING = 16 * 1024 * 1024
"""The number of characters at the beginning that are logged immediately."""
LAST_LINES = 2_000
LONGEST_LINE = 64 * 1024


def limit_log(hook: SparkSubmitHook) -> None:
    """Make a hook log only the beginning and the end of spark-submit's output; it still reads all of it."""
    process = hook._process_spark_submit_log
    hook._process_spark_submit_log = lambda lines: process(limited(lines))


def limited(lines: Iterable[str], *, beginning: int = BEGINNING) -> Iterator[str]:
    """Yield lines up to a number of characters, then the last lines; a line between says how many are left out."""
    left, last, skipped = beginning, deque[str](maxlen=LAST_LINES), 0
    for whole in lines:
        line = whole if len(whole) <= LONGEST_LINE else f"{whole[:LONGEST_LINE]} …\n"
        if left > 0:
            left -= len(line)
            yield line
            continue
        if len(last) == LAST_LINES:
            skipped += 1
        last.append(line)
    if skipped:
        yield f"graph_compiler: {skipped:,} lines are left out here\n"
    yield from last
