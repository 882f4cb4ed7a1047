"""Apply an edge's partitioner to its rows, with as few exchanges as Spark needs (decision 7).

Spark's own operators distribute rows by key themselves, and do it better (partial aggregation, broadcast joins,
adaptive execution). So a hash or a range edge adds an exchange only if the consumer is a user function, which Spark
cannot look into, or if the user has set the consumer's parallelism.

    partitioner    parallelism p set                          unset
    forward        none, if the producer has p too            none
    rescale        none: partitions are joined, or read so    none
    rebalance      repartition(p), in turn                    a rebalance hint
    shuffle        the same                                   the same
    hash           repartition(p, keys)                       absorbed; repartition(keys) for a function
    range          repartitionByRange(p, columns)             absorbed; repartitionByRange(columns) for a function
    global         repartition(1); all to the first of p      the same; absorbed if the operator gathers
    custom         by number                                  by number, as many as spark.sql.shuffle.partitions
    broadcast      a broadcast hint                           the same

For a rescale in memory, Spark chooses which partitions are joined (those on one host), and the producer's work then
runs in the consumer's tasks; a staged rescale follows Flink, partition by partition. If p does not divide the
producer's parallelism, rows are redistributed in turn. Broadcasting is a hint for a join; a pipeline in which Flink
would repeat broadcast rows is not deployed (`deployability`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import singledispatch
from importlib import import_module

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql.functions import broadcast, coalesce, concat, expr, pmod, raise_error, udf, when
from pyspark.sql.types import LongType

from graph_compiler.declaration.functions import FunctionRef
from graph_compiler.declaration.operators import Sink
from graph_compiler.declaration.parameters.parameter import ParameterValue
from graph_compiler.declaration.partitioners import (
    BroadcastPartitioner,
    CustomPartitioner,
    DistributionPattern,
    ForwardPartitioner,
    FunctionPartitioner,
    GlobalPartitioner,
    HashPartitioner,
    Partitioner,
    RangePartitioner,
    RebalancePartitioner,
    RescalePartitioner,
    ShufflePartitioner,
)
from graph_compiler.deployment.documents.descriptor import InputDescriptor, OperatorDescriptor
from graph_compiler.identifiers import listing, quoted
from graph_compiler.spark_runtime.operators import union
from graph_compiler.spark_runtime.operators.scope import order_of, query_over
from graph_compiler.spark_runtime.spark_internals.java import lit
from graph_compiler.spark_runtime.spark_internals.planned_partitions import planned_partitions
from graph_compiler.spark_runtime.spark_internals.plans import are_sorted, in_ranges


def partitions_read(edge: InputDescriptor, consumer: OperatorDescriptor) -> int | None:
    """Return the number of partitions to read a staged result in (Flink's table); None leaves it to Spark."""
    is_pointwise = edge.partitioner.distribution_pattern is DistributionPattern.POINTWISE
    return consumer.settings.parallelism if edge.staged is not None and is_pointwise else None


def distribute_all(streams: list[tuple[InputDescriptor, DataFrame]], consumer: OperatorDescriptor) -> list[DataFrame]:
    """Distribute the streams of one input; streams with the same partitioner are combined first.

    If each stream were hashed separately, equal keys would be in two places, and each stream would have p partitions.
    """
    travels: dict[object, list[tuple[InputDescriptor, DataFrame]]] = {}
    for number, (edge, rows) in enumerate(streams):
        key = number if _keeps_partitions(edge, consumer) else edge.partitioner
        travels.setdefault(key, []).append((edge, rows))
    arrived = []
    for alike in travels.values():
        edge, _ = alike[0]
        rows = union([rows for _, rows in alike])
        arrived.append(distribute(edge.partitioner, rows, edge, consumer))
    if len(arrived) > 1 and consumer.settings.parallelism is not None:
        return [union(arrived).coalesce(consumer.settings.parallelism)]
    return arrived


@singledispatch
def distribute(
    partitioner: Partitioner, rows: DataFrame, edge: InputDescriptor, consumer: OperatorDescriptor
) -> DataFrame:
    """Return the rows distributed as the edge declares."""
    raise AssertionError(f"no exchange for {type(partitioner).__name__}")


@distribute.register(ForwardPartitioner)
@distribute.register(RescalePartitioner)
def _(_: Partitioner, rows: DataFrame, edge: InputDescriptor, consumer: OperatorDescriptor) -> DataFrame:
    wanted = consumer.settings.parallelism
    if wanted is None or partitions_read(edge, consumer) is not None:
        return rows
    if not _keeps_partitions(edge, consumer):
        return rows.repartition(wanted)
    return rows if edge.producer_parallelism == wanted else rows.coalesce(wanted)


@distribute.register
def _(partitioner: HashPartitioner, rows: DataFrame, edge: InputDescriptor, consumer: OperatorDescriptor) -> DataFrame:
    if consumer.settings.parallelism is None and consumer.operator.distributes_itself:
        return rows
    columns = [rows[quoted(key)] for key in partitioner.keys or rows.columns]
    if consumer.settings.parallelism is None:
        return rows.repartition(*columns)
    return rows.repartition(consumer.settings.parallelism, *columns)


@distribute.register
def _(partitioner: RangePartitioner, rows: DataFrame, edge: InputDescriptor, consumer: OperatorDescriptor) -> DataFrame:
    if consumer.settings.parallelism is None and consumer.operator.distributes_itself:
        return rows
    order = [sort_column(item) for item in partitioner.order_by]
    if consumer.settings.parallelism is None:
        return rows.repartitionByRange(*order)
    return rows.repartitionByRange(consumer.settings.parallelism, *order)


@distribute.register(RebalancePartitioner)
@distribute.register(ShufflePartitioner)
def _(_: Partitioner, rows: DataFrame, edge: InputDescriptor, consumer: OperatorDescriptor) -> DataFrame:
    # Both spread rows evenly. Distributed in turn, a row goes to the same partition when it is recomputed.
    return (
        rows.hint("rebalance")
        if consumer.settings.parallelism is None
        else rows.repartition(consumer.settings.parallelism)
    )


@distribute.register
def _(_: GlobalPartitioner, rows: DataFrame, edge: InputDescriptor, consumer: OperatorDescriptor) -> DataFrame:
    if consumer.operator.gathers:
        return rows
    partitions = consumer.settings.parallelism or 1
    return (
        rows.repartition(1)
        if partitions == 1
        else rows.repartitionById(partitions, lit(0))  # to the first; the others exist and are empty
    )


@distribute.register
def _(
    partitioner: CustomPartitioner, rows: DataFrame, edge: InputDescriptor, consumer: OperatorDescriptor
) -> DataFrame:
    return route_by_expression(rows, partitioner, _partitions(rows, consumer), consumer.name)


@distribute.register
def _(
    partitioner: FunctionPartitioner, rows: DataFrame, edge: InputDescriptor, consumer: OperatorDescriptor
) -> DataFrame:
    return route_by_function(rows, partitioner, _partitions(rows, consumer), consumer.name)


@distribute.register
def _(_: BroadcastPartitioner, rows: DataFrame, edge: InputDescriptor, consumer: OperatorDescriptor) -> DataFrame:
    return broadcast(rows)


def _keeps_partitions(edge: InputDescriptor, consumer: OperatorDescriptor) -> bool:
    """Whether each consumer partition is one producer partition or several joined ones."""
    wanted, found = consumer.settings.parallelism, edge.producer_parallelism
    if edge.partitioner.distribution_pattern is not DistributionPattern.POINTWISE:
        return False
    is_multiple = wanted is not None and found is not None and found % wanted == 0
    return edge.staged is not None or is_multiple


def _partitions(rows: DataFrame, consumer: OperatorDescriptor) -> int:
    return consumer.settings.parallelism or int(rows.sparkSession.conf.get("spark.sql.shuffle.partitions") or 200)


# The order of rows: a sort item as a Column, and the rows of a sink in the order of the last sort.
#
# What a sink reads in memory is in order already. A number of files or a parallelism redistributes the rows, and a
# staged result is read back in any order: then they are sorted again. Spark leaves out the first sort if it can.

_ROWS = "graph_compiler_rows"
_ITEM = re.compile(
    r"^(?P<expression>.*?)(?:\s+(?P<way>ASC|DESC))?(?:\s+NULLS\s+(?P<nulls>FIRST|LAST))?\s*$", re.IGNORECASE | re.DOTALL
)


def rows_in_order(rows: DataFrame, sink: OperatorDescriptor, parameters: Mapping[str, ParameterValue]) -> DataFrame:
    """Return the rows for a sink in its `order_by`, before any exchange for its parallelism."""
    assert isinstance(sink.operator, Sink)
    partitions = sink.operator.file_count or sink.settings.parallelism
    if partitions is None and are_sorted(rows):
        return rows

    def ordered(items: list[str]) -> DataFrame:
        order = order_of(items, parameters, rows.sparkSession)
        query = f"SELECT * FROM {_ROWS} AS {_ROWS} ORDER BY {order}"
        return query_over({_ROWS: rows}, query, parameters, rows.sparkSession)

    again = ordered([*sink.order_by])
    if partitions is None:
        return again
    folders = [quoted(name) for name in sink.operator.partition_by]
    return in_ranges(again, partitions, ordered(folders) if folders else None)


def sort_column(item: str) -> Column:
    """Return an item such as `delay DESC NULLS LAST` as a column: Spark parses it as text only in SQL's ORDER BY.

    By default, NULLs are first if ascending, last if descending.
    """
    found = _ITEM.match(item.strip())
    assert found is not None, "every text has this form"
    column = expr(found["expression"])
    is_descending = (found["way"] or "ASC").upper() == "DESC"
    nulls = (found["nulls"] or ("LAST" if is_descending else "FIRST")).upper()
    if is_descending:
        return column.desc_nulls_last() if nulls == "LAST" else column.desc_nulls_first()
    return column.asc_nulls_last() if nulls == "LAST" else column.asc_nulls_first()


def has_exactly(rows: DataFrame, partitions: int) -> bool:
    """Whether the rows will certainly have this number of partitions, whatever adaptive execution does."""
    return planned_partitions(rows) == partitions


def with_exactly(rows: DataFrame, partitions: int | None) -> DataFrame:
    """Return the rows in `partitions` partitions, without an exchange if possible; None leaves them unchanged."""
    if partitions is None or (found := planned_partitions(rows)) == partitions:
        return rows
    if found is not None and found > partitions:
        return rows.coalesce(partitions)
    return rows.repartition(partitions)


# Send each row to the partition that the user's expression or function returns.
#
# An invalid partition fails the task with a clear message. Spark alone would take any number modulo, and NULL as 0.

_NUMBER = "__graph_compiler_partition"
_MISROUTED = ": its input cannot be partitioned: "


def route_by_expression(rows: DataFrame, partitioner: CustomPartitioner, partitions: int, consumer: str) -> DataFrame:
    """Send rows to the expression's value modulo the partitions, never negative; NULL fails the task."""
    number = pmod(expr(partitioner.expression).cast("bigint"), lit(partitions))
    refusal = _refusal(consumer, f"'{partitioner.expression}' is NULL", "a whole number")
    return rows.repartitionById(partitions, coalesce(number, refusal).cast("int"))


def route_by_function(rows: DataFrame, partitioner: FunctionPartitioner, partitions: int, consumer: str) -> DataFrame:
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
    return routed.repartitionById(partitions, when(is_partition, number).otherwise(refusal).cast("int")).drop(_NUMBER)


def misrouting(error: BaseException) -> tuple[str, str] | None:
    """Return the consumer and the message if a row got no valid partition; None for any other failure."""
    if not isinstance(error, PySparkException) or error.getCondition() != "USER_RAISED_EXCEPTION":
        return None
    consumer, found, words = (error.getMessageParameters() or {}).get("errorMessage", "").partition(_MISROUTED)
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
    return raise_error(concat(lit(f"{consumer}{_MISROUTED}"), words, lit(f"; allowed: {allowed}"))).cast("bigint")
