"""DataFrames under names that SQL text can use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from graph_compiler.spark_runtime.java import java_class


@contextmanager
def named_rows(spark: SparkSession, views: Mapping[str, DataFrame]) -> Iterator[None]:
    """Let each name stand for its rows in here, as a temporary view."""
    for name, rows in views.items():
        try:
            _put_into_catalog(spark, name, rows)
        except Py4JJavaError:
            raise
        except (Py4JError, TypeError):  # another Spark, whose classes are others
            rows.createOrReplaceTempView(name)
    try:
        yield
    finally:
        for name in views:
            spark.catalog.dropTempView(name)


def _put_into_catalog(spark: SparkSession, name: str, rows: DataFrame) -> None:
    """Do what `createOrReplaceTempView` does, without the query it runs.

    That query is planned, run and told of like any other: 50 ms of CPU for each operator, and twice as many lines in
    Spark's SQL tab.
    """
    session, plan = rows.sparkSession._jsparkSession, rows._jdf.queryExecution().analyzed()
    none = java_class(spark, "scala.Option").empty()
    nothing_before = java_class(spark, "scala.collection.immutable.Map$").__getattr__("MODULE$")
    nil = java_class(spark, "scala.collection.immutable.Nil$").__getattr__("MODULE$")
    view = java_class(
        spark, "org.apache.spark.sql.execution.command.ViewHelper"
    ).createTemporaryViewRelation(
        java_class(spark, "org.apache.spark.sql.catalyst.TableIdentifier")(name),
        session,
        False,  # not replacing: a view that contains itself is looked for
        nothing_before.empty().updated(name, none),
        none,
        plan,
        plan,
        nil,
        none,
    )
    session.sessionState().catalog().createTempView(name, view, True)
