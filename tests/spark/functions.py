"""Functions that pipelines of these tests name; Spark's workers import them from here."""

from collections.abc import Iterator
from decimal import Decimal

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame

from graph_compiler import KeyedProcessFunction, ValueStateDescriptor
from graph_compiler.declaration.operators.process_functions import ProcessContext, Row


def doubled(rows: DataFrame) -> DataFrame:
    return rows.selectExpr("k", "v * 2 AS v")


def partition_numbers(rows: DataFrame) -> DataFrame:
    return rows.selectExpr("k", "spark_partition_id() AS p")


def not_rows(rows: DataFrame) -> int:
    return len(rows.columns)


def with_names(rows: DataFrame, names: DataFrame) -> DataFrame:
    return rows.join(names, "k")


def doubled_batches(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for batch in batches:
        yield pd.DataFrame({"k": batch["k"], "v": batch["v"] * 2})


def same_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def count_of_key(rows: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"k": [rows["k"].iloc[0]], "n": [len(rows)]})


class NumberOfKey(KeyedProcessFunction):
    """Numbers the rows of a key."""

    last = ValueStateDescriptor("BIGINT")

    def process_element(self, value: Row, ctx: ProcessContext) -> Iterator[Row]:  # noqa: ARG002  # only keys count
        self.last.update((self.last.value() or 0) + 1)
        yield {"k": ctx.get_current_key(), "n": self.last.value()}


def split(rows: DataFrame) -> tuple[DataFrame, dict[str, DataFrame]]:
    return rows.where("v > 2"), {"small": rows.where("v <= 1"), "null": rows.where("v IS NULL")}


def half(rows: DataFrame) -> DataFrame:
    return rows.selectExpr("k", "v / 2 AS v")


def smallest_label(state: DataFrame, edges: DataFrame) -> DataFrame:
    """Return each node the smallest label among its own and its neighbours'; `changed` says whether it is another."""
    neighbours = state.join(edges, state["node"] == edges["a"]).selectExpr("b AS node", "label")
    least = neighbours.groupBy("node").agg({"label": "min"}).withColumnRenamed("min(label)", "least")
    return state.join(least, "node", "left").selectExpr(
        "node", "least(label, least) AS label", "label > least(label, least) AS changed"
    )


def times(rows: DataFrame, by: int, *, add: int = 0) -> DataFrame:
    return rows.selectExpr(f"id * {by} + {add} AS id")


def times_of_two(rows: DataFrame, other: DataFrame, by: int) -> DataFrame:
    return rows.unionByName(other).selectExpr(f"id * {by} AS id")


def times_batches(batches: Iterator[pd.DataFrame], by: int) -> Iterator[pd.DataFrame]:
    for batch in batches:
        yield batch * by


def times_with_sides(rows: DataFrame, by: int) -> tuple[DataFrame, dict[str, DataFrame]]:
    return times(rows, by), {"rest": rows}


def times_group(rows: pd.DataFrame, by: int) -> pd.DataFrame:
    return rows * by


def unchanged_frames(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    yield from frames


def unchanged_frame(frame: pd.DataFrame) -> pd.DataFrame:
    return frame


def rows_of_group(frame: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"n": [len(frame)]})


def unchanged_frame_of_key(key: tuple[object, ...], frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["k"] == key[0]]


def unchanged_frames_of_key(key: tuple[object, ...], frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for frame in frames:
        yield frame[frame["k"] == key[0]]


def with_result(frame: pd.DataFrame, result: str) -> pd.DataFrame:
    values = {"half": 1.5, "large": 2.0**63, "object": Decimal("1.5"), "ratio": Decimal("1.005")}
    return pd.DataFrame({"v": [values[result]] * len(frame)})


def by_sign(rows: DataFrame) -> tuple[DataFrame, dict[str, DataFrame]]:
    """Return the rows whose key is not negative zero, and the others: two conditions of its own."""
    is_minus = "cast(k AS STRING) = '-0.0'"
    return rows.where(f"NOT {is_minus}"), {"minus": rows.where(is_minus)}


def after_a(rows: DataFrame) -> tuple[DataFrame, dict[str, DataFrame]]:
    """Return the names after 'a', and the others."""
    is_after = "coalesce(name > 'a', false)"
    return rows.where("name > 'a'"), {"rest": rows.where(f"NOT {is_after}")}
