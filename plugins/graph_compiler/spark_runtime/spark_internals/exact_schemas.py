"""Rows read from files, with the schema of the rows that were written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from graph_compiler.spark_runtime.spark_internals.java import java_class, java_class_name, scala_sequence
from graph_compiler.spark_runtime.spark_internals.origins import outputs_at
from graph_compiler.spark_runtime.spark_internals.plans import (
    analyzed_plan,
    elements,
    is_deterministic,
    plans_in,
    rows_of_plan,
)

_SQL = "org.apache.spark.sql"
_FILE_NAMES = ("InputFileName", "InputFileBlockStart", "InputFileBlockLength")


def with_schema(rows: DataFrame, schema: StructType, spark: SparkSession) -> DataFrame:
    """Return a file reader's rows, with nullability (also of nested fields) and metadata as they were written.

    `rows` is a file source as `spark.read` returns it. Spark treats every column of a file as nullable, since anyone
    may have written it; these files are ours. Only the relation's attributes change: pruning and pushed filters stay.
    The result belongs to the session `spark`. `LogicalRelation` with its `stream`: 4.3.
    """
    relation = analyzed_plan(rows)
    kind = java_class(spark, f"{_SQL}.types.DataType").fromJson(schema.json())
    exact = java_class(spark, f"{_SQL}.execution.datasources.LogicalRelation")(
        relation.relation(),
        java_class(spark, f"{_SQL}.catalyst.types.DataTypeUtils").toAttributes(kind),
        relation.catalogTable(),
        relation.isStreaming(),
        relation.stream(),
    )
    return rows_of_plan(spark, exact)


def with_not_null(rows: DataFrame, schema: StructType) -> DataFrame:
    """Return the same rows, NOT NULL at every depth and with metadata as in the schema.

    This has no cost, and checks nothing. For plans that are not a file source. A condition on such a NOT NULL column is
    not pushed below this. `Alias` and `AttributeReference` with six parameters, `KnownNotNull`: 4.3.
    """
    spark, plan = rows.sparkSession, analyzed_plan(rows)
    expressions = f"{_SQL}.catalyst.expressions"
    alias, new_id = (java_class(spark, f"{expressions}.{name}") for name in ("Alias", "NamedExpression"))
    output, none, held = plan.output(), scala_sequence(spark, []), rows.schema
    columns = []
    for number, field in enumerate(schema):
        column = output.apply(number)
        if held[number].dataType != field.dataType:  # of NOT NULL within it: the same attribute, of this type
            column = java_class(spark, f"{expressions}.AttributeReference")(
                column.name(),
                java_class(spark, f"{_SQL}.types.DataType").fromJson(field.dataType.json()),
                column.nullable(),
                column.metadata(),
                column.exprId(),
                column.qualifier(),
            )
        if not field.nullable:
            column = java_class(spark, f"{expressions}.KnownNotNull")(column)
        metadata = _metadata(spark, field.metadata)
        columns.append(alias(column, field.name, new_id.newExprId(), none, metadata, none))
    project = java_class(spark, f"{_SQL}.catalyst.plans.logical.Project")
    return rows_of_plan(spark, project(scala_sequence(spark, columns), plan))


def without_files(rows: DataFrame) -> DataFrame:
    """Return rows of our own files without what Spark adds to those of a file: `_metadata` would name our file.

    `Project.hiddenOutputTag`: 4.3.
    """
    spark, plan = rows.sparkSession, analyzed_plan(rows)
    kind = java_class(spark, f"{_SQL}.catalyst.plans.logical.Project")
    project = kind(plan.output(), plan)
    project.setTagValue(kind.hiddenOutputTag(), scala_sequence(spark, []))
    return rows_of_plan(spark, project)


def file_named_over_ours(rows: DataFrame) -> str | None:
    """Return a function in the analyzed plan that would name a file of ours: `input_file_name`; None without one.

    The search ends at nodes that are the output of another operator, with which they were looked at.
    """
    if is_deterministic(rows):
        return None
    spark, waiting = rows.sparkSession, [analyzed_plan(rows)]
    while waiting:
        node = waiting.pop()
        if outputs_at(spark, node):
            continue
        if (name := next(_named_files(elements(node.expressions())), None)) and _is_over_ours(spark, node):
            return name
        waiting += elements(node.children())
        for expression in elements(node.expressions()):
            waiting += plans_in(spark, expression)
    return None


def _named_files(expressions: list[Any]) -> Iterator[str]:
    waiting = [each for each in expressions if not each.deterministic()]
    while waiting:
        each = waiting.pop()
        if java_class_name(each) in _FILE_NAMES:
            yield str(each.prettyName())
        waiting += elements(each.children())


def _is_over_ours(spark: SparkSession, plan: Any) -> bool:
    """Whether a plan reads rows that `without_files` returned."""
    tag = java_class(spark, f"{_SQL}.catalyst.plans.logical.Project").hiddenOutputTag()
    waiting = [plan]
    while waiting:
        node = waiting.pop()
        hidden = node.getTagValue(tag)
        if hidden.isDefined() and hidden.get().isEmpty():
            return True
        waiting += elements(node.children())
    return False


def _metadata(spark: SparkSession, metadata: dict[str, Any]) -> Any:
    found = java_class(spark, f"{_SQL}.types.Metadata").fromJson(json.dumps(metadata))
    return java_class(spark, "scala.Option").apply(found)
