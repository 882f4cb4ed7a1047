"""SQL text over DataFrames."""

from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from graph_compiler.spark_runtime.operators.queries import query_over, query_over_views
from graph_compiler.spark_runtime.spark_internals import parsed_queries

pytestmark = pytest.mark.spark

QUERY = "SELECT l.id, r.id * 10 AS ten FROM t AS l INNER JOIN t AS r ON l.id = r.id WHERE l.id > :x"


def test_query_names_are_replaced_by_the_inputs_rows(spark: SparkSession) -> None:
    tables = {"t": spark.range(5)}
    direct, by_views = (
        function(tables, QUERY, {"x": 2, "unused": "o'clock"}, spark)
        for function in (query_over, query_over_views)
    )
    assert direct.collect() == by_views.collect() == [(3, 30), (4, 40)]
    assert direct.schema == by_views.schema
    assert "View" not in direct._jdf.queryExecution().analyzed().toString()
    assert not spark.catalog.tableExists("t")


def test_a_spark_with_other_classes_gets_views(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(spark: SparkSession, name: str) -> Any:
        return getattr(spark._jvm, f"no.such.{name}")

    monkeypatch.setattr(parsed_queries, "java_class", missing)
    found = query_over({"t": spark.range(5)}, QUERY, {"x": 2}, spark)
    assert found.collect() == [(3, 30), (4, 40)]
    assert not spark.catalog.tableExists("t")


def test_an_unbound_parameter_is_named(spark: SparkSession) -> None:
    for parameters in ({}, {"x": 1}):
        with pytest.raises(AnalysisException, match="UNBOUND_SQL_PARAMETER.*: y"):
            query_over({"t": spark.range(5)}, "SELECT :y FROM t", parameters, spark)
