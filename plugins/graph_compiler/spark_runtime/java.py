"""The classes of Spark's JVM."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession


def java_class(
    spark: SparkSession, name: str
) -> Any:  # a class or a Scala object: py4j has no types for them
    """Give a class by its full name in one call to the JVM; written with dots in Python, each dot is one."""
    assert spark._jvm is not None
    return getattr(spark._jvm, name)
