"""Read a staged result in the partitions of Flink's POINTWISE table, including empty ones (decision 7).

Spark's own read packs files by size: six become two, in a different order, and partitions without rows vanish. There
are two ways to avoid that, and both keep column pruning, pushed filters and vectorized reading:

    apart       a union of reads of one partition each: no rows move. Each task carries the plans of all the others,
                0.3 ms for each pair, and consumers that share a partition each read all of its pages
    exchanged   one plain read, then every row is sent to its consumer: 20 ns for each staged byte

Seconds of CPU for 5 million rows, 290 MB, read to the end (docs/decisions/07-exchanges.md):

    partitions = consumers      8      64     128
    plain, in its own order     1.6    1.4    1.5
    apart                       1.6    2.4    3.5
    exchanged                   9.1    9.5    9.8
"""

from __future__ import annotations

from functools import reduce
from itertools import groupby

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.functions import array_repeat, call_function, expr, get, split_part
from pyspark.sql.types import StructType

from graph_compiler.declaration.partitioners import DistributionPattern
from graph_compiler.deployment.documents.manifest import Manifest
from graph_compiler.deployment.plans.partition_shares import FileSlice, Share, shares
from graph_compiler.graphs.execution_graph import partition_groups
from graph_compiler.spark_runtime.results.reading import pinned_session, read_staged_files
from graph_compiler.spark_runtime.spark_internals.exact_schemas import with_not_null
from graph_compiler.spark_runtime.spark_internals.java import lit
from graph_compiler.spark_runtime.spark_internals.planned_partitions import ONE_PARTITION

_FREE_PAIRS = 32**2
"""Below this number of pairs, their cost is not noticeable."""
_BYTES_PER_PAIR = 16 * 1024
"""Bytes that can be exchanged in the time that one pair takes."""
_REREADS = 3
"""Up to this number of consumers, reading a partition takes less time than exchanging it."""
_ONE_READ_IS_ONE_PARTITION = {
    "spark.sql.files.maxPartitionBytes": str(2**62),
    "spark.sql.files.openCostInBytes": "0",
    "spark.sql.files.minPartitionNum": "1",
}


def read_pointwise(spark: SparkSession, manifest: Manifest, schema: StructType, consumers: int) -> DataFrame:
    """Return the rows in `consumers` partitions, partition i with those that Flink's subtask i reads."""
    if _is_cheaper_apart(manifest, consumers):
        return _read_apart(spark, manifest, schema, shares(manifest.partitions, consumers=consumers))
    return _read_exchanged(spark, manifest, schema, consumers)


def _is_cheaper_apart(manifest: Manifest, consumers: int) -> bool:
    if any(len(partition.files) > 1 for partition in manifest.partitions) or not manifest.files:
        return True  # an exchange identifies a row's partition by its only file
    pairs = consumers**2
    rereads = -(-consumers // len(manifest.partitions))
    return rereads <= _REREADS and (pairs <= _FREE_PAIRS or pairs * _BYTES_PER_PAIR <= manifest.bytes)


def _read_apart(spark: SparkSession, manifest: Manifest, schema: StructType, wanted: tuple[Share, ...]) -> DataFrame:
    # A session in which each read is one partition; the user's sources keep theirs.
    reader = pinned_session(spark, _ONE_READ_IS_ONE_PARTITION)
    parts: list[DataFrame] = []
    for has_rows, run in groupby(wanted, key=bool):
        if has_rows:
            parts += [_read_share(reader, manifest, schema, share) for share in run]
        else:
            parts.append(_no_rows(spark, schema, len(list(run))))
    # The first member decides the session of the result: it must be the caller's. The optimizer removes that member.
    return reduce(DataFrame.union, parts, _no_rows(spark, schema, 0))


def _read_share(reader: SparkSession, manifest: Manifest, schema: StructType, share: Share) -> DataFrame:
    files = [slice.file for slice in share]
    rows = read_staged_files(reader, manifest, schema, files, {ONE_PARTITION: "true"})
    if all(slice.is_whole for slice in share):
        return rows
    metadata = rows.metadataColumn("_metadata")
    return rows.where(reduce(Column.__or__, [_holds(slice, metadata) for slice in share]))


def _holds(slice: FileSlice, metadata: Column) -> Column:
    """Whether a row is in a slice."""
    row = metadata["row_index"]
    is_here = metadata["file_name"] == lit(slice.file.name)
    return is_here & (row >= lit(slice.rows.start)) & (row < lit(slice.rows.stop))


def _no_rows(spark: SparkSession, schema: StructType, partitions: int) -> DataFrame:
    """Return empty partitions, as many as requested.

    The optimizer must not find out that they are empty, nor what they contain: if a filter is false for a constant
    NULL, it removes the partitions.
    """
    if not partitions:
        seeds = spark.range(1).where("false")
    else:
        seeds = spark.range(0, partitions, 1, partitions).where("id < 0")
    number = seeds["id"].cast("int")
    rows = seeds.select(
        *(get(array_repeat(lit(None).cast(field.dataType), number), lit(0)).alias(field.name) for field in schema)
    )
    return with_not_null(rows, schema)  # a union is nullable if one of its members is


def _read_exchanged(spark: SparkSession, manifest: Manifest, schema: StructType, consumers: int) -> DataFrame:
    rows = read_staged_files(spark, manifest, schema, manifest.files)
    return rows.repartitionById(consumers, _consumer(rows, manifest, consumers).cast("int"))


def _consumer(rows: DataFrame, manifest: Manifest, consumers: int) -> Column:
    """Return the number of the subtask that reads a row: the inverse of `shares`."""
    metadata = rows.metadataColumn("_metadata")
    partition = split_part(metadata["file_name"], lit("-"), lit(2)).cast("int")  # part-00003-….parquet
    producers = len(manifest.partitions)
    if producers >= consumers:
        return _divided((partition + 1) * consumers - 1, lit(producers))
    groups = partition_groups(DistributionPattern.POINTWISE, producers=producers, consumers=consumers)
    first = _looked_up([group.consumers.start for group in groups], partition)
    parts = _looked_up([len(group.consumers) for group in groups], partition)
    total = _looked_up([sum(file.rows for file in partition.files) for partition in manifest.partitions], partition)
    return first + _divided((metadata["row_index"] + 1) * parts - 1, total)


def _divided(dividend: Column, divisor: Column) -> Column:
    return call_function("div", dividend, divisor)


def _looked_up(numbers: list[int], index: Column) -> Column:
    return get(expr(f"array({', '.join(map(str, numbers))})"), index)
