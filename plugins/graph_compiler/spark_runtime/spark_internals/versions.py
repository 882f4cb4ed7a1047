"""What differs between Spark 4.1, 4.2 and 4.3, asked by what is there.

    since    what                                                           before
    4.2      DataSource takes which source of a stream it is                one argument less
    4.2      OrcUtils.readSchema takes one more Boolean                     one argument less
    4.3      CAST(TIME '12:00' AS TIMESTAMP): a time on the current day     Spark refuses the cast

Nothing else of this project knows one version from another.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from graph_compiler.spark_runtime.spark_internals.java import Py4JError, java_class, scala_object
from graph_compiler.spark_runtime.spark_internals.plans import pattern


def with_defaults(spark: SparkSession, name: str, *given: Any) -> Any:
    """Return an instance of a Scala case class; an argument that is not given has its default.

    Later versions of Spark add arguments at the end.
    """
    (constructor,) = java_class(spark, "java.lang.Class").forName(name).getConstructors()
    companion = scala_object(spark, name)
    places = range(len(given) + 1, int(constructor.getParameterCount()) + 1)
    return java_class(spark, name)(*given, *(getattr(companion, f"apply$default${place}")() for place in places))


def time_to_timestamp(spark: SparkSession) -> Any | None:
    """Return the tree pattern of casts of a time to a timestamp; None if this version has no such casts."""
    try:
        return pattern(spark, "CAST_TO_TIMESTAMP")
    except Py4JError:
        return None


def orc_footer(spark: SparkSession, path: Any, configuration: Any) -> Any:
    """Return an option of the ORC schema in a file's footer; a file that is damaged is an error."""
    orc = java_class(spark, "org.apache.spark.sql.execution.datasources.orc.OrcUtils")
    try:
        others = [getattr(orc, "readSchema$default$4")()]
    except Py4JError:
        others = []
    return orc.readSchema(path, configuration, False, *others)
