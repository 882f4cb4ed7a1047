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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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
from graph_compiler.spark_runtime.operators.scope import INPUT, order_of, query_over
from graph_compiler.spark_runtime.spark_internals.java import lit
from graph_compiler.spark_runtime.spark_internals.parsed_queries import bound_text
from graph_compiler.spark_runtime.spark_internals.planned_partitions import planned_partitions
from graph_compiler.spark_runtime.spark_internals.plans import are_sorted, in_ranges, ranges_of


def partitions_read(edge: InputDescriptor, consumer: OperatorDescriptor) -> int | None:
    """Return the number of partitions to read a staged result in (Flink's table); None leaves it to Spark."""
    is_pointwise = edge.partitioner.distribution_pattern is DistributionPattern.POINTWISE
    return consumer.settings.parallelism if edge.staged is not None and is_pointwise else None


@dataclass(frozen=True, slots=True)
class DistributedEdge:
    """An edge, the operator that reads it, and the parameters of the run."""

    edge: InputDescriptor
    consumer: OperatorDescriptor
    parameters: Mapping[str, ParameterValue]

    @property
    def parallelism(self) -> int | None:
        """That of the consumer, None if its declaration sets none."""
        return self.consumer.settings.parallelism

    @property
    def keeps_partitions(self) -> bool:
        """Whether each consumer partition is one producer partition or several joined ones."""
        wanted, found = self.parallelism, self.edge.producer_parallelism
        if self.edge.partitioner.distribution_pattern is not DistributionPattern.POINTWISE:
            return False
        is_multiple = wanted is not None and found is not None and found % wanted == 0
        return self.edge.staged is not None or is_multiple

    @property
    def is_absorbed(self) -> bool:
        """Whether the consumer distributes the rows itself, and in as many partitions as it likes."""
        return self.parallelism is None and self.consumer.operator.distributes_itself

    def partitions(self, rows: DataFrame) -> int:
        """Return a number of partitions where one is needed."""
        return self.parallelism or int(rows.sparkSession.conf.get("spark.sql.shuffle.partitions") or 200)


def distribute_all(
    streams: list[tuple[InputDescriptor, DataFrame]],
    consumer: OperatorDescriptor,
    parameters: Mapping[str, ParameterValue],
) -> list[DataFrame]:
    """Distribute the streams of one input; streams with the same partitioner are combined first.

    If each stream were hashed separately, equal keys would be in two places, and each stream would have p partitions.
    """
    travels: dict[object, list[tuple[DistributedEdge, DataFrame]]] = {}
    for number, (edge, rows) in enumerate(streams):
        exchange = DistributedEdge(edge, consumer, parameters)
        key = number if exchange.keeps_partitions else edge.partitioner
        travels.setdefault(key, []).append((exchange, rows))
    arrived = []
    for alike in travels.values():
        exchange, _ = alike[0]
        rows = union([rows for _, rows in alike])
        arrived.append(distribute(exchange.edge.partitioner, rows, exchange))
    if len(arrived) > 1 and consumer.settings.parallelism is not None:
        return [union(arrived).coalesce(consumer.settings.parallelism)]
    return arrived


@singledispatch
def distribute(partitioner: Partitioner, rows: DataFrame, exchange: DistributedEdge) -> DataFrame:
    """Return the rows distributed as the edge declares."""
    raise AssertionError(f"no exchange for {type(partitioner).__name__}")


@distribute.register(ForwardPartitioner)
@distribute.register(RescalePartitioner)
def _(_: Partitioner, rows: DataFrame, exchange: DistributedEdge) -> DataFrame:
    wanted = exchange.parallelism
    if wanted is None or partitions_read(exchange.edge, exchange.consumer) is not None:
        return rows
    if not exchange.keeps_partitions:
        return rows.repartition(wanted)
    return rows if exchange.edge.producer_parallelism == wanted else rows.coalesce(wanted)


@distribute.register
def _(partitioner: HashPartitioner, rows: DataFrame, exchange: DistributedEdge) -> DataFrame:
    if exchange.is_absorbed:
        return rows
    columns = [rows[quoted(key)] for key in partitioner.keys or rows.columns]
    if exchange.parallelism is None:
        return rows.repartition(*columns)
    return rows.repartition(exchange.parallelism, *columns)


@distribute.register
def _(partitioner: RangePartitioner, rows: DataFrame, exchange: DistributedEdge) -> DataFrame:
    if exchange.is_absorbed:
        return rows
    ordered = _ordered(rows, partitioner.order_by, exchange.parameters)
    return ranges_of(ordered, exchange.parallelism)


@distribute.register(RebalancePartitioner)
@distribute.register(ShufflePartitioner)
def _(_: Partitioner, rows: DataFrame, exchange: DistributedEdge) -> DataFrame:
    # Both spread rows evenly. Distributed in turn, a row goes to the same partition when it is recomputed.
    return rows.hint("rebalance") if exchange.parallelism is None else rows.repartition(exchange.parallelism)


@distribute.register
def _(_: GlobalPartitioner, rows: DataFrame, exchange: DistributedEdge) -> DataFrame:
    if exchange.consumer.operator.gathers:
        return rows
    partitions = exchange.parallelism or 1
    return (
        rows.repartition(1)
        if partitions == 1
        else rows.repartitionById(partitions, lit(0))  # to the first; the others exist and are empty
    )


@distribute.register
def _(partitioner: CustomPartitioner, rows: DataFrame, exchange: DistributedEdge) -> DataFrame:
    return route_by_expression(rows, partitioner, exchange)


@distribute.register
def _(partitioner: FunctionPartitioner, rows: DataFrame, exchange: DistributedEdge) -> DataFrame:
    return route_by_function(rows, partitioner, exchange)


@distribute.register
def _(_: BroadcastPartitioner, rows: DataFrame, exchange: DistributedEdge) -> DataFrame:
    return broadcast(rows)


# The order of rows: in ranges of it, and the rows of a sink in the order of the last sort.
#
# What a sink reads in memory is in order already. A number of files or a parallelism redistributes the rows, and a
# staged result is read back in any order: then they are sorted again. Spark leaves out the first sort if it can.


def rows_in_order(rows: DataFrame, sink: OperatorDescriptor, parameters: Mapping[str, ParameterValue]) -> DataFrame:
    """Return the rows for a sink in its `order_by`, before any exchange for its parallelism."""
    assert isinstance(sink.operator, Sink)
    partitions = sink.operator.file_count or sink.settings.parallelism
    if partitions is None and are_sorted(rows):
        return rows
    again = _ordered(rows, sink.order_by, parameters)
    if partitions is None:
        return again
    folders = [quoted(name) for name in sink.operator.partition_by]
    return in_ranges(again, partitions, _ordered(rows, folders, parameters) if folders else None)


def _ordered(rows: DataFrame, items: Sequence[str], parameters: Mapping[str, ParameterValue]) -> DataFrame:
    """Return the sorted rows; items of an order, such as `delay DESC NULLS LAST`, are text in SQL's ORDER BY only."""
    order = order_of(items, parameters, rows.sparkSession)
    query = f"SELECT * FROM {INPUT} AS {INPUT} ORDER BY {order}"
    return query_over({INPUT: rows}, query, parameters, rows.sparkSession)


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


def route_by_expression(rows: DataFrame, partitioner: CustomPartitioner, exchange: DistributedEdge) -> DataFrame:
    """Send rows to the expression's value modulo the partitions, never negative; NULL fails the task."""
    partitions = exchange.partitions(rows)
    chosen = expr(bound_text(partitioner.expression, exchange.parameters, rows.sparkSession))
    number = pmod(chosen.cast("bigint"), lit(partitions))
    refusal = _refusal(exchange.consumer.name, f"'{partitioner.expression}' is NULL", "a whole number")
    return rows.repartitionById(partitions, coalesce(number, refusal).cast("int"))


def route_by_function(rows: DataFrame, partitioner: FunctionPartitioner, exchange: DistributedEdge) -> DataFrame:
    """Call the function for every row; it must return a whole number from 0 to the number of partitions - 1."""
    partitions = exchange.partitions(rows)
    partitioner.function.load()  # if it cannot be imported, fail here, once, not in every task
    # Rows go to Python and back without Arrow, which would require pyarrow on every executor.
    ask = udf(_calling(partitioner.function, partitions), LongType(), useArrow=False)
    routed = rows.withColumn(_NUMBER, ask(*(rows[quoted(key)] for key in partitioner.keys)))
    number = routed[_NUMBER]
    refusal = _refusal(
        exchange.consumer.name,
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
