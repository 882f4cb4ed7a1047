"""Send each row to the partition that the user's expression or function returns.

An invalid partition fails the task with a clear message. Spark alone would take any number modulo, and NULL as 0.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql.functions import coalesce, concat, expr, lit, pmod, raise_error, udf, when
from pyspark.sql.types import LongType

from graph_compiler.declaration.functions import FunctionRef
from graph_compiler.declaration.partitioners import CustomPartitioner, FunctionPartitioner
from graph_compiler.identifiers import listing, quoted

_NUMBER = "__graph_compiler_partition"
_MISROUTED = ": its input cannot be partitioned: "


def route_by_expression(
    rows: DataFrame, partitioner: CustomPartitioner, partitions: int, consumer: str
) -> DataFrame:
    """Send rows to the expression's value modulo the partitions, never negative; NULL fails the task."""
    number = pmod(expr(partitioner.expression).cast("bigint"), lit(partitions))
    refusal = _refusal(consumer, f"'{partitioner.expression}' is NULL", "a whole number")
    return rows.repartitionById(partitions, coalesce(number, refusal).cast("int"))


def route_by_function(
    rows: DataFrame, partitioner: FunctionPartitioner, partitions: int, consumer: str
) -> DataFrame:
    """Call the function for every row; it must return a whole number from 0 to `partitions` - 1."""
    partitioner.function.load()  # if it cannot be imported, fail here, once, not in every task
    # Rows go to Python and back without Arrow, which would require pyarrow on every executor.
    ask = udf(_calling(partitioner.function, partitions), LongType(), useArrow=False)
    routed = rows.withColumn(_NUMBER, ask(*(rows[quoted(key)] for key in partitioner.keys)))
    number = routed[_NUMBER]
    refusal = _refusal(
        consumer,
        concat(
            lit(f"{partitioner.function} gave "),
            coalesce(number.cast("string"), lit("no whole number")),
            lit(f" for {listing(partitioner.keys)} = "),
            concat(*_words(routed, partitioner.keys)),
        ),
        f"0 to {partitions - 1}",
    )
    is_partition = (number >= 0) & (number < partitions)
    return routed.repartitionById(
        partitions, when(is_partition, number).otherwise(refusal).cast("int")
    ).drop(_NUMBER)


def misrouting(error: BaseException) -> tuple[str, str] | None:
    """Return the consumer and the message if a row got no valid partition; None for any other failure."""
    if not isinstance(error, PySparkException) or error.getCondition() != "USER_RAISED_EXCEPTION":
        return None
    consumer, found, words = (
        (error.getMessageParameters() or {}).get("errorMessage", "").partition(_MISROUTED)
    )
    return (consumer, f"its input cannot be partitioned: {words}") if found else None


def _calling(function: FunctionRef, partitions: int) -> Callable[..., object]:
    """Return the function that runs in Python workers: it is pickled by value, so they need only the user's module."""
    module, name = function.module, function.name

    def ask(*key: object) -> object:
        partition = getattr(import_module(module), name)
        found = partition(key[0] if len(key) == 1 else key, partitions)
        return found if isinstance(found, int) and not isinstance(found, bool) else None

    return ask


def _words(rows: DataFrame, keys: tuple[str, ...]) -> list[Column]:
    values = [coalesce(rows[quoted(key)].cast("string"), lit("NULL")) for key in keys]
    return [part for value in values for part in (lit(", "), value)][1:]


def _refusal(consumer: str, found: str | Column, allowed: str) -> Column:
    words = lit(found) if isinstance(found, str) else found
    return raise_error(
        concat(lit(f"{consumer}{_MISROUTED}"), words, lit(f"; allowed: {allowed}"))
    ).cast("bigint")
