"""Pipelines that wait in the middle of a job until an object is there: executors need no disk of others for it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from urllib.request import Request, urlopen

import pandas as pd

from graph_compiler import Csv, DataStream, Parquet, StreamExecutionEnvironment, param
from prices import FACTOR

PARAMS = {
    "input": "s3a://lake/sales.csv",
    "output": "s3a://lake/out",
    "bucket": "http://127.0.0.1/lake",
    "signals": "signals",
}
COLUMNS = "key INT, quantity DOUBLE, price DOUBLE"


def waited(frames: Iterator[pd.DataFrame], bucket: str, signals: str) -> Iterator[pd.DataFrame]:
    """Add a price, after the wait; the bucket is in a store that asks nobody for keys."""
    _ask("PUT", f"{bucket}/{signals}/waits/{os.getpid()}", b"-")
    listing = f"{bucket}?list-type=2&prefix={signals}/may_go"
    for frame in frames:
        while b"<Key>" not in _ask("GET", listing):
            time.sleep(0.5)
        yield frame.assign(price=frame["quantity"] * FACTOR)


def _ask(method: str, address: str, body: bytes | None = None) -> bytes:
    with urlopen(Request(address, data=body, method=method), timeout=60) as answer:
        return bytes(answer.read())


def _priced(env: StreamExecutionEnvironment) -> DataStream:
    sales = env.from_source(Csv("{{ params.input }}", schema="key INT, quantity DOUBLE"), "sales")
    waiting = sales.rebalance().map_partitions(
        waited, COLUMNS, bucket=param("bucket"), signals=param("signals")
    )
    return waiting.set_parallelism(4).name("waited")


shuffled = StreamExecutionEnvironment("shuffled", params=PARAMS)
shuffled_totals = _priced(shuffled).key_by("key").aggregate(price="sum(price)").name("totals")
shuffled_totals.sink_to(Parquet("{{ params.output }}/totals")).name("total_rows")

written = StreamExecutionEnvironment("written", params=PARAMS)
priced = _priced(written)
priced.sink_to(Parquet("{{ params.output }}/waited")).name("waited_rows")
staged = priced.stage("totals are computed in another task").key_by("key")
written_totals = staged.aggregate(price="sum(price)").name("totals")
written_totals.sink_to(Parquet("{{ params.output }}/totals")).name("total_rows")
