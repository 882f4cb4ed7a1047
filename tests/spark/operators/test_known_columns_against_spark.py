"""Columns that are known without Spark are those that Spark finds."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from graph_compiler import Values
from graph_compiler.declaration.operators import (
    Aggregate,
    AggregateAll,
    Cache,
    Cast,
    Deduplicate,
    Drop,
    Except,
    Filter,
    FlatMap,
    Intersect,
    IntervalJoin,
    Join,
    JoinType,
    Limit,
    Operator,
    Rename,
    Sample,
    Select,
    Sort,
    Source,
    TopN,
    UnionByName,
    WithColumns,
)
from graph_compiler.declaration.operators.known_columns import columns_of_schema
from graph_compiler.declaration.sql_types.spark_types import type_of_text
from graph_compiler.spark_runtime.columns.declared_schema import parse_schema, type_words
from graph_compiler.spark_runtime.operators.scope import Scope, main_output
from tests.declaration.test_known_columns import EXPRESSIONS

pytestmark = [pytest.mark.spark, pytest.mark.ci]
LEFT = "id INT, n BIGINT, d DECIMAL(9,2), x DOUBLE, name STRING, day DATE, `odd one` INT"
RIGHT = "ID INT, at TIMESTAMP, tag STRING"
ON = (("id", "id"),)
OPERATORS: list[tuple[Operator, tuple[str, ...]]] = [
    (Filter("id > 5"), (LEFT,)),
    (Select((("id", "`id`"), ("late", "x > 5"), ("other", "id + 1"), ("c", "CAST(n AS STRING)"))), (LEFT,)),
    (WithColumns((("ID", "name"), ("new", "'a'"), ("f", "day IS NULL"))), (LEFT,)),
    (Drop(("ID", "x")), (LEFT,)),
    (Rename((("ID", "key"), ("x", "y"))), (LEFT,)),
    (Cast((("ID", "decimal(20, 1)"), ("name", "binary"))), (LEFT,)),
    (FlatMap("explode(array(1, 2))", ("item",)), (LEFT,)),
    (Sample(0.5, 1), (LEFT,)),
    (Cache(), (LEFT,)),
    (Sort(("id",)), (LEFT,)),
    (TopN(3, ("id",)), (LEFT,)),
    (Limit(3), (LEFT,)),
    (Deduplicate(("id",), ("n",)), (LEFT,)),
    (Aggregate(("ID", "name"), (("n", "count(*)"), ("s", "sum(d)"), ("a", "avg(n)"), ("m", "max(day)"))), (LEFT,)),
    (Aggregate(("id", "name"), (("s", "sum(n)"),), (("id", "name"), ("id",))), (LEFT,)),
    (AggregateAll((("s", "sum(x)"), ("low", "min(name)"), ("odd", "first(id)"))), (LEFT,)),
    *((Join(ON, how), (LEFT, RIGHT)) for how in JoinType if how is not JoinType.CROSS),
    (Join((), JoinType.CROSS), ("a INT", "b STRING")),
    (IntervalJoin(ON, "day", "at", "-1 day", "1 day"), (LEFT, RIGHT)),
    (UnionByName(), ("id INT, a STRING", "b DATE, ID INT")),
    (UnionByName(), ("id INT", "id BIGINT")),
    (Intersect(), ("id INT, a STRING", "a STRING, id INT")),
    (Except(all=True), ("id INT, a STRING", "a STRING, id INT")),
    (Source(Values([(1, "a")], "id INT, name STRING")), ()),
]  # fmt: skip


@pytest.mark.parametrize(("operator", "schemas"), OPERATORS)
def test_known_columns_are_those_of_spark(operator: Operator, schemas: tuple[str, ...], spark: SparkSession) -> None:
    known = operator.columns_after([columns_of_schema(schema) for schema in schemas])
    assert known is not None
    if isinstance(operator, Source):
        found = parse_schema("id INT, name STRING")
    else:
        inputs = [spark.createDataFrame([], parse_schema(schema)) for schema in schemas]
        scope = Scope(
            spark=spark,
            parameters={},
            parallelism=None,
            read=lambda _connector, _parallelism: spark.range(1),
            materialize=lambda _name, rows: rows,
            stop_clock=lambda rows: rows,
            contracts=[],
            is_dry=True,
        )
        found = main_output(operator, inputs, scope).schema
    assert [column.name.lower() for column in known] == [name.lower() for name in found.names]
    for column, field in zip(known, found, strict=True):
        if column.type is not None:
            assert column.type == type_of_text(type_words(field.dataType)), column.name


def test_known_types_of_expressions_are_those_of_spark(spark: SparkSession) -> None:
    rows = spark.createDataFrame([], parse_schema(LEFT))
    for text, kind in EXPRESSIONS:
        if kind is not None:
            (field,) = rows.selectExpr(f"({text}\n) AS c").schema
            assert type_of_text(type_words(field.dataType)) == kind, text
