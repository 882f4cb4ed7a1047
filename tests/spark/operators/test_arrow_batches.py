"""Batches of Arrow have the columns of their schema by name; others fail the task."""

from collections.abc import Callable, Iterator

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from graph_compiler import StreamExecutionEnvironment, Values
from graph_compiler.deployment.documents.report import ThrowableType
from graph_compiler.spark_runtime.operators.pandas_frames import with_named_columns
from tests.spark import functions
from tests.spark.conftest import RunPipeline

pytestmark = [pytest.mark.spark]

PRICES = Values([(10.0, 1.0)], "price DOUBLE, cost DOUBLE")
TYPES = "Invalid schema from"
"""How Spark begins to say that types differ."""
BATCH = pa.record_batch({"price": [10.0], "cost": [1.0]})


def test_columns_in_another_order_are_found_by_name(run_pipeline: RunPipeline) -> None:
    env = StreamExecutionEnvironment("p")
    rows = env.from_source(PRICES, "prices")
    rows.map_partitions(functions.same_batches, "cost DOUBLE, price DOUBLE", batches="arrow").expect(
        "as they were", "cost = 1.0 AND price = 10.0", on_violation="fail"
    )
    (report,) = run_pipeline(env.pipeline())
    assert report.failure is None


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (
            "cost DOUBLE, prize DOUBLE",
            "its function returns columns price, cost\n  allowed: those of its schema: cost, ",
        ),
        ("cost DOUBLE", "its function returns columns price, cost"),
        ("cost DOUBLE, price DOUBLE, tax DOUBLE", "allowed: those of its schema: cost, price, tax"),
        ("cost DOUBLE, Price DOUBLE", "allowed: those of its schema: cost, Price"),
        ("cost DOUBLE, price DECIMAL(9,2)", TYPES),
        ("cost DOUBLE, price BIGINT", TYPES),
    ],
)
def test_other_columns_and_other_types_fail_the_task_and_are_named(
    schema: str, words: str, run_pipeline: RunPipeline
) -> None:
    env = StreamExecutionEnvironment("p")
    rows = env.from_source(PRICES, "prices")
    rows.map_partitions(functions.same_batches, schema, batches="arrow").name("bad").expect("is", "cost > 0")
    (report,) = run_pipeline(env.pipeline())
    assert report.failure is not None
    assert report.failure.throwable_type is ThrowableType.NON_RECOVERABLE_ERROR
    assert words in report.failure.message
    if words != TYPES:  # Spark compares types where the rows are written
        assert report.failure.operator == "bad"


def test_functions_of_dataframes_cannot_exchange_columns(spark: SparkSession) -> None:
    """By a setting of the session: no function of ours is around theirs."""
    swapped = spark.createDataFrame([(10.0, 1.0)], "price DOUBLE, cost DOUBLE").mapInArrow(
        functions.same_batches, "cost DOUBLE, price DOUBLE"
    )
    with pytest.raises(Exception, match="ARROW_TYPE_MISMATCH"):
        swapped.collect()


def two_of_a_name(_: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield pa.RecordBatch.from_arrays([pa.array([1.0]), pa.array([2.0])], names=["cost", "cost"])


@pytest.mark.parametrize("function", [two_of_a_name, lambda _: iter([BATCH.select([])])])
def test_a_name_twice_or_none_is_refused(function: Callable[..., object]) -> None:
    with pytest.raises(ValueError, match="its function returns columns (cost, cost|none)"):
        list(with_named_columns(function, "cost DOUBLE, price DOUBLE")(iter([BATCH])))
