"""Rows read from files, with the schema they were written with."""

from __future__ import annotations

import json

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType


def with_schema(rows: DataFrame, schema: StructType, spark: SparkSession) -> DataFrame:
    """Give what a file reader reads, with nullability (nested too) and metadata as they were when it was written.

    `rows` is a file source as `spark.read` gives it. Spark takes every column of files for nullable, since anybody may
    have written them; these are ours. Only the relation's attributes change: pruning and pushed filters stay. `spark`
    is the session they are rows of from now on.
    """
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


def with_not_null(rows: DataFrame, schema: StructType) -> DataFrame:
    """Give the same rows, NOT NULL and with metadata where the schema says so; it costs nothing, and checks nothing.

    For plans that are no file source. A condition on a column that is NOT NULL does not reach what is below.
    """
    spark = rows.sparkSession
    jvm = spark._jvm
    assert jvm is not None
    catalyst, plan = jvm.org.apache.spark.sql.catalyst, rows._jdf.queryExecution().analyzed()
    expressions, as_scala = catalyst.expressions, jvm.scala.jdk.javaapi.CollectionConverters.asScala
    output, none = plan.output(), as_scala([]).toSeq()
    columns = []
    for number, field in enumerate(schema):
        column = output.apply(number)
        columns.append(
            expressions.Alias(
                column if field.nullable else expressions.KnownNotNull(column),
                field.name,
                expressions.NamedExpression.newExprId(),
                none,
                jvm.scala.Option.apply(
                    jvm.org.apache.spark.sql.types.Metadata.fromJson(json.dumps(field.metadata))
                ),
                none,
            )
        )
    projected = catalyst.plans.logical.Project(as_scala(columns).toSeq(), plan)
    dataset = jvm.org.apache.spark.sql.classic.Dataset.ofRows(spark._jsparkSession, projected)
    return DataFrame(dataset, spark)
