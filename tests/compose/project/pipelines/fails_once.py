"""A pipeline whose second task fails in its first attempt."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pandas as pd

from graph_compiler import Parquet, Range, Schedule, StreamExecutionEnvironment, param

OUTPUT = Path(__file__).parents[1] / "output"
JANUARY = Schedule(cron="@daily", start=date(2026, 1, 1), end=date(2026, 1, 31))
"""Days that are over, so that only a backfill or a test runs them."""


def fail_once(batches: Iterator[pd.DataFrame], mark: str) -> Iterator[pd.DataFrame]:
    """Return all rows, but fail where no attempt has been yet."""
    mine = Path(mark)
    if not mine.exists():
        mine.touch()
        raise RuntimeError("the first attempt fails")
    yield from batches


env = StreamExecutionEnvironment(
    "fails_once",
    params={"output": str(OUTPUT), "mark": ""},
    schedule=JANUARY,
    config={"spark.task.maxFailures": "1"},  # Spark would try again by itself
)
numbers = env.from_source(Range(0, 1000), "numbers")
staged = numbers.filter("id >= 0").name("staged").stage("a later failure must not repeat it")
again = staged.rebalance().map_partitions(fail_once, "id BIGINT", mark=param("mark")).name("again")
again.sink_to(Parquet("{{ params.output }}/fails_once"), mode="append").name("appended")
