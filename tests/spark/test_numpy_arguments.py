"""py4j takes NumPy's values as before, and nothing imports NumPy to find out that there are none."""

import sys
from datetime import date
from decimal import Decimal

import numpy as np
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812  # as every PySpark program writes it
from pyspark.sql.types import NumpyArrayConverter, NumpyScalarConverter

from graph_compiler.spark_runtime.spark_internals.java import lit, look_for_numpy_only_if_loaded

pytestmark = pytest.mark.spark


def test_values_of_numpy_are_passed(spark: SparkSession) -> None:
    look_for_numpy_only_if_loaded()
    assert NumpyScalarConverter().can_convert(np.int64(3))
    assert NumpyArrayConverter().can_convert(np.array([1.5]))
    assert not NumpyScalarConverter().can_convert(3)
    (row,) = spark.range(1).select(F.lit(np.int64(3)), F.lit(np.array([1.5]))).collect()
    assert tuple(row) == (3, [1.5])


def test_nothing_is_a_value_of_numpy_while_that_is_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    look_for_numpy_only_if_loaded()
    monkeypatch.delitem(sys.modules, "numpy")
    monkeypatch.delitem(sys.modules, "pyspark.testing.utils", raising=False)
    assert not NumpyScalarConverter().can_convert(3)
    assert not NumpyArrayConverter().can_convert([3])
    assert not {"numpy", "pyspark.testing.utils"} & sys.modules.keys()


def test_constants_are_made_without_numpy(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    look_for_numpy_only_if_loaded()
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
