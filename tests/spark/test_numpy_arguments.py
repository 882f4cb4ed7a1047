"""py4j takes NumPy's values as before, and nothing imports NumPy to find out that there are none."""

import sys
from datetime import date
from decimal import Decimal

import numpy as np
import pytest
from py4j import protocol
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812  # as every PySpark program writes it
from pyspark.sql.types import NumpyArrayConverter, NumpyScalarConverter

from graph_compiler.spark_runtime.spark_internals.java import ease_java_calls, java_class, lit

pytestmark = pytest.mark.spark


def test_values_of_numpy_are_passed(spark: SparkSession) -> None:
    ease_java_calls()
    assert NumpyScalarConverter().can_convert(np.int64(3))
    assert NumpyArrayConverter().can_convert(np.array([1.5]))
    assert not NumpyScalarConverter().can_convert(3)
    (row,) = spark.range(1).select(F.lit(np.int64(3)), F.lit(np.array([1.5]))).collect()
    assert tuple(row) == (3, [1.5])


def test_plain_values_are_passed_as_they_are(spark: SparkSession) -> None:
    ease_java_calls()
    ease_java_calls()
    first, *others = protocol.INPUT_CONVERTER
    values = {"ä\n": "ä\n", "": "", 7: "7", -1: "-1", 2**40: "1099511627776", True: "true", 1.5: "1.5", None: "null"}
    assert all(first.can_convert(value) and first.convert(value, None) is value for value in values)
    assert not any(map(first.can_convert, (np.int64(3), np.str_("a"), date(2013, 1, 1), b"a", ["a"], {"a": 1})))
    assert type(first) not in map(type, others), "once"
    objects = java_class(spark, "java.util.Objects")
    assert [objects.toString(value) for value in values] == [*values.values()]


def test_nothing_is_a_value_of_numpy_while_that_is_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    ease_java_calls()
    monkeypatch.delitem(sys.modules, "numpy")
    monkeypatch.delitem(sys.modules, "pyspark.testing.utils", raising=False)
    assert not NumpyScalarConverter().can_convert(3)
    assert not NumpyArrayConverter().can_convert([3])
    assert not {"numpy", "pyspark.testing.utils"} & sys.modules.keys()


def test_constants_are_made_without_numpy(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    ease_java_calls()
    monkeypatch.delitem(sys.modules, "numpy")
    monkeypatch.delitem(sys.modules, "pyspark.testing.utils", raising=False)
    values = [1, 2.5, "a", True, None, Decimal("1.50"), date(2013, 1, 1)]
    columns = [lit(value).alias(f"c{number}") for number, value in enumerate(values)]
    parsed = F.from_csv(lit("1,2"), "a INT, b INT").alias("parsed")
    rows = spark.range(1).select(*columns, parsed, lit(F.col("id")))
    assert not {"numpy", "pyspark.testing.utils"} & sys.modules.keys()
    monkeypatch.undo()
    (row,) = rows.collect()
    assert tuple(row) == (*values, (1, 2), 0)
