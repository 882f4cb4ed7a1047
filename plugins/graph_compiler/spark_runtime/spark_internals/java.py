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


def scala_object(spark: SparkSession, name: str) -> Any:
    """Return a Scala object as a value, or one of a class whose own methods hide the object's."""
    return getattr(java_class(spark, f"{name}$"), "MODULE$")


def java_class_name(value: Any) -> str:
    """Return the simple name of a Java object's class."""
    return str(value.getClass().getSimpleName())
