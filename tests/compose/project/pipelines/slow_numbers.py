"""Numbers that are staged and then appended, slowly, so that there is time to break something in between."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pandas as pd

from graph_compiler import Parquet, Range, Schedule, StreamExecutionEnvironment, param

OUTPUT = Path(__file__).parents[1] / "output"
JANUARY = Schedule(cron="@daily", start=date(2026, 1, 1), end=date(2026, 1, 31))
"""Days that are over, so that only a backfill or a test runs them."""


def slowly(batches: Iterator[pd.DataFrame], seconds: float) -> Iterator[pd.DataFrame]:
    """Return all rows, with a break before each batch: there is one in a partition."""
    for batch in batches:
        time.sleep(seconds)
        yield batch


env = StreamExecutionEnvironment(
    "slow_numbers", params={"label": "", "seconds": 10.0, "output": str(OUTPUT)}, schedule=JANUARY
)
numbers = env.from_source(Range(0, 1000), "numbers")
first = (
    numbers.map_partitions(slowly, "id BIGINT", seconds=param("seconds"))
    .name("first")
    .stage("a later failure must not repeat it")
)
labeled = first.with_columns(label=":label").name("labeled")
second = labeled.map_partitions(slowly, "id BIGINT, label STRING", seconds=param("seconds")).name("second")
second.sink_to(Parquet("{{ params.output }}/slow_numbers"), mode="append").name("appended")
