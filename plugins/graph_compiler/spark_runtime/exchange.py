"""What an edge's partitioner does to its rows: as little as Spark can do with (DESIGN D7).

Spark's own operators distribute rows by key themselves, and better (partial aggregation, broadcast joins, adaptive
execution). So a hash edge adds an exchange only where the consumer is a function of the user's, which Spark knows
nothing of, or where the user has set the consumer's parallelism.
"""

from __future__ import annotations

from functools import singledispatch

from pyspark.sql import Column, DataFrame
from pyspark.sql.functions import broadcast, expr

from graph_compiler.declaration.partitioners import (
    BroadcastPartitioner,
    CustomPartitioner,
    ForwardPartitioner,
    GlobalPartitioner,
    HashPartitioner,
    Partitioner,
    RangePartitioner,
    RebalancePartitioner,
    RescalePartitioner,
    ShufflePartitioner,
)
from graph_compiler.deployment.descriptor import InputDescriptor, OperatorDescriptor


@singledispatch
def distribute(
    partitioner: Partitioner, rows: DataFrame, edge: InputDescriptor, consumer: OperatorDescriptor
) -> DataFrame:
    """Give the rows as the consumer is to see them."""
    raise AssertionError(f"no exchange for {type(partitioner).__name__}")


@distribute.register
def _(
    _: ForwardPartitioner, rows: DataFrame, edge: InputDescriptor, consumer: OperatorDescriptor
) -> DataFrame:
    # Rows have the partitions their producer gave them, unless it left these to Spark or they come from files.
    as_it_is = edge.producer_parallelism is not None and edge.staged is None
    return (
        rows if consumer.parallelism is None or as_it_is else rows.repartition(consumer.parallelism)
    )


@distribute.register
def _(
    partitioner: HashPartitioner,
    rows: DataFrame,
    edge: InputDescriptor,
    consumer: OperatorDescriptor,
) -> DataFrame:
    if consumer.parallelism is not None:
        return rows.repartition(consumer.parallelism, *_columns(partitioner, rows))
    if not consumer.operator.distributes_itself:
        return rows.repartition(*_columns(partitioner, rows))
    return rows


@distribute.register(RebalancePartitioner)
@distribute.register(ShufflePartitioner)
def _(
    _: Partitioner, rows: DataFrame, edge: InputDescriptor, consumer: OperatorDescriptor
) -> DataFrame:
    # Both spread rows evenly. Dealt out in turn, they go the same way when a partition is computed again.
    return (
        rows.hint("rebalance")
        if consumer.parallelism is None
        else rows.repartition(consumer.parallelism)
    )


@distribute.register
def _(
    _: GlobalPartitioner, rows: DataFrame, edge: InputDescriptor, consumer: OperatorDescriptor
) -> DataFrame:
    return rows if consumer.operator.gathers else rows.repartition(1)


@distribute.register
def _(
    partitioner: RangePartitioner,
    rows: DataFrame,
    edge: InputDescriptor,
    consumer: OperatorDescriptor,
) -> DataFrame:
    return rows


@distribute.register
def _(
    partitioner: CustomPartitioner,
    rows: DataFrame,
    edge: InputDescriptor,
    consumer: OperatorDescriptor,
) -> DataFrame:
    partitions = consumer.parallelism or int(
        rows.sparkSession.conf.get("spark.sql.shuffle.partitions") or 200
    )
    return rows.repartitionById(partitions, expr(partitioner.expression).cast("int"))


@distribute.register
def _(
    _: RescalePartitioner, rows: DataFrame, edge: InputDescriptor, consumer: OperatorDescriptor
) -> DataFrame:
    return rows if consumer.parallelism is None else rows.repartition(consumer.parallelism)


@distribute.register
def _(
    _: BroadcastPartitioner, rows: DataFrame, edge: InputDescriptor, consumer: OperatorDescriptor
) -> DataFrame:
    return broadcast(rows)


def _columns(partitioner: HashPartitioner, rows: DataFrame) -> list[Column]:
    return [rows[f"`{key}`"] for key in partitioner.keys or rows.columns]
