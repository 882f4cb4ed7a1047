"""A pipeline that waits in the middle of a job until a file is there."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pandas as pd

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment, param
from prices import FACTOR


def waited(frames: Iterator[pd.DataFrame], may_go: str) -> Iterator[pd.DataFrame]:
    """Add a price, after the wait."""
    open(f"{may_go}.waits.{os.getpid()}", "w").close()
    for frame in frames:
        while not os.path.exists(may_go):
            time.sleep(0.1)
        yield frame.assign(price=frame["quantity"] * FACTOR)


env = StreamExecutionEnvironment(
    "waiting", params={"input": "/data/sales.csv", "output": "/data", "may_go": "/data/may_go"}
)
sales = env.from_source(Csv("{{ params.input }}", schema="key INT, quantity DOUBLE"), "sales")
priced = (
    sales.rebalance()
    .map_partitions(waited, "key INT, quantity DOUBLE, price DOUBLE", may_go=param("may_go"))
    .set_parallelism(4)
    .name("waited")
)
priced.sink_to(Parquet("{{ params.output }}/waited")).name("waited_rows")
totals = priced.key_by("key").aggregate(price="sum(price)").name("totals")
totals.sink_to(Parquet("{{ params.output }}/totals")).name("total_rows")
