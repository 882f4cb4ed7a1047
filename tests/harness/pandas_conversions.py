"""Spark's own conversions between pandas and Arrow, as its workers call them; Spark 4.1 has them in a serializer."""

from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import conversion
from pyspark.sql.pandas import serializers
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DataType, StructType

HAS_TWO_WAYS = hasattr(conversion, "ArrowArrayToPandasConversion")
"""Whether a batch with text is converted in a different way."""


def to_pandas(numbers: pa.Array, kind: DataType, *, is_beside_text: bool) -> pd.Series:
    """Return a column as a function over pandas gets it."""
    if not HAS_TWO_WAYS:
        return _of_4_1().arrow_to_pandas(numbers, 0, spark_type=kind)
    ways: Any = conversion.ArrowArrayToPandasConversion
    return (ways.convert_legacy if is_beside_text else ways.convert)(numbers, kind)


def to_arrow(frame: pd.DataFrame, schema: StructType) -> pa.Array:
    """Return the only column of what a function over pandas has returned, as Spark takes it."""
    (field,) = schema.fields
    if not HAS_TWO_WAYS:
        series = frame[field.name]
        return _of_4_1()._create_array(series, to_arrow_type(field.dataType), field.dataType, arrow_cast=True)
    batch = conversion.PandasToArrowConversion.convert(
        frame, schema, timezone="UTC", safecheck=True, arrow_cast=True, assign_cols_by_name=True
    )
    return batch.column(0)


def _of_4_1() -> Any:
    kept: Any = serializers
    return kept.ArrowStreamPandasSerializer("UTC", safecheck=True, int_to_decimal_coercion_enabled=False)
