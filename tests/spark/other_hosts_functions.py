"""A function whose rows would depend on the zone of the Python that runs it."""

from pyspark.sql import DataFrame
from pyspark.sql.functions import udf


def with_hour_in_python(rows: DataFrame) -> DataFrame:
    """Add the hour that Python sees on an executor."""
    return rows.withColumn("hour", udf(lambda at: at.hour, "INT")("at"))
