"""py4j takes NumPy's values as before, and nothing imports NumPy to find out that there are none."""

import sys

import numpy as np
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812  # as every PySpark program writes it
from pyspark.sql.types import NumpyArrayConverter, NumpyScalarConverter

from graph_compiler.spark_runtime.spark_internals.java import look_for_numpy_only_if_loaded

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
