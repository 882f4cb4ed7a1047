"""What differs between Spark 4.1, 4.2 and 4.3, asked by what is there.

    since           what                                                           before
    4.1.4, 4.2.1    FileFormatWriter.write takes a function to call                one argument less
    4.2             DataSource takes which source of a stream it is                one argument less
    4.2             OrcUtils.readSchema takes one more Boolean                     one argument less
    4.3             CAST(TIME '12:00' AS TIMESTAMP): a time on the current day     Spark refuses the cast

Nothing else of this project knows one version from another.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from graph_compiler.spark_runtime.spark_internals.java import Py4JError, Py4JJavaError
from graph_compiler.spark_runtime.spark_internals.plans import pattern


def defaults_from(owner: Any, method: str, place: int) -> list[Any]:
    """Return the defaults of a Scala method's arguments from a place on, counted from 1; `apply` makes an instance.

    Later versions of Spark add arguments at the end, with defaults.
    """
    found: list[Any] = []
    while True:
        try:
            found.append(getattr(owner, f"{method}$default${place + len(found)}")())
        except Py4JJavaError:
            raise
        except Py4JError:  # there is no such argument, or it has no default
            return found


def time_to_timestamp(spark: SparkSession) -> Any | None:
    """Return the tree pattern of casts of a time to a timestamp; None if this version has no such casts."""
    try:
        return pattern(spark, "CAST_TO_TIMESTAMP")
    except Py4JError:
        return None
