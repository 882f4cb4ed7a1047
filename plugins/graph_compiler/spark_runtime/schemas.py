"""Rows read from files, with the schema they were written with."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType


def with_schema(rows: DataFrame, schema: StructType) -> DataFrame:
    """Give what a file reader reads, with nullability (nested too) and metadata as they were when it was written.

    `rows` is a file source as `spark.read` gives it. Spark takes every column of files for nullable, since anybody may
    have written them; these are ours. Only the relation's attributes change: pruning and pushed filters stay.
    """
    spark = rows.sparkSession
    jvm = spark._jvm
    assert jvm is not None
    sql = jvm.org.apache.spark.sql
    relation = rows._jdf.queryExecution().analyzed()
    attributes = sql.catalyst.types.DataTypeUtils.toAttributes(
        sql.types.DataType.fromJson(schema.json())
    )
    exact = sql.execution.datasources.LogicalRelation(
        relation.relation(),
        attributes,
        relation.catalogTable(),
        relation.isStreaming(),
        relation.stream(),
    )
    return DataFrame(sql.classic.Dataset.ofRows(spark._jsparkSession, exact), spark)
