"""What differs between Spark 4.1, 4.2 and 4.3, asked by what is there.

    since           what                                                           before
    4.1.4, 4.2.1    FileFormatWriter.write takes a function to call                one argument less
    4.2             DataSource takes which source of a stream it is                one argument less
    4.2             OrcUtils.readSchema takes one more Boolean                     one argument less
    4.2             to_arrow_type needs a time zone, for any type that has one     there is no such argument
    4.2             pandas has the whole numbers of lists and maps as they are     beside a NULL, they are doubles
    4.2             0.0 and -0.0 are one key of a stream's unique rows             two keys
    4.2             PythonException has a condition, with the traceback            its message has the traceback
    4.3             counts have rows once                                          rows that a sort samples count twice
    4.3             CAST(TIME '12:00' AS TIMESTAMP): a time on the current day     Spark refuses the cast

Nothing else of this project knows one version from another. Which versions are tested: tested_versions.py.
"""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, distribution
from inspect import signature
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import SparkSession
from pyspark.sql.types import DataType, StructType

from graph_compiler import program_log
from graph_compiler.errors import GraphCompilerError
from graph_compiler.spark_runtime.spark_internals.java import JavaClass, Py4JError, Py4JJavaError, java_class
from graph_compiler.spark_runtime.spark_internals.plans import pattern
from graph_compiler.tested_versions import SPARK, Standing, minor_of, next_minor, without_client

_EXECUTION = "org.apache.spark.sql.execution"
LOG = program_log.logger(__name__)


class SparkVersionError(GraphCompilerError):
    """The driver has another Spark than this plan, or its own Python, needs."""


def check_pyspark(compiled_for: str | None, found: str = pyspark.__version__) -> None:
    """Raise SparkVersionError if pyspark is too old, or of another minor than the one compiled for (None: any)."""
    if (why := SPARK.why_refused(found)) is not None:
        raise SparkVersionError(f'{why}\n  hint: pip install "{SPARK.requirement}"')
    if SPARK.standing(found) is Standing.NEWER:
        LOG.warning("Spark %s is not tested with this version of graph_compiler; %s", found, SPARK.range_is)
    if compiled_for is not None and minor_of(compiled_for) != minor_of(found):
        if (whole := _overwritten(found)) is not None:
            raise _two_versions(whole, found)
        ours, theirs = minor_of(compiled_for), minor_of(found)
        raise SparkVersionError(
            f"this plan was compiled for Spark {ours}, and the driver has {found}\n"
            f'  hint: where Airflow parses Dags: pip install "pyspark>={theirs},<{next_minor(theirs)}"; '
            f"or let SPARK_HOME and PATH of the driver lead to Spark {ours}"
        )


def check_jars(spark: SparkSession, found: str = pyspark.__version__) -> None:
    """Raise SparkVersionError if the JVM's Spark has another version than Python's."""
    if _three(spark.version) != _three(found):
        raise _two_versions(spark.version, found)


def _two_versions(jars: str, found: str) -> SparkVersionError:
    return SparkVersionError(
        f"the driver's jars are those of Spark {jars}, its Python files those of {found}\n"
        f"  hint: pyspark-client writes into pyspark's folder: {without_client(jars)}; "
        "if it is not installed, SPARK_HOME and PYTHONPATH lead to two versions"
    )


def _overwritten(found: str) -> str | None:
    """Return the version of the installed pyspark whose files those of pyspark-client have replaced, None if none is.

    pip records what it has installed, whatever the files are now. A pyspark of SPARK_HOME is at another place.
    """
    try:
        package = distribution("pyspark")
    except PackageNotFoundError:
        return None
    is_its_own = Path(str(package.locate_file("pyspark/__init__.py"))).resolve() == Path(pyspark.__file__).resolve()
    return package.version if is_its_own and _three(package.version) != _three(found) else None


def _three(version: str) -> list[str]:
    """Return the numbers of a version; vendors add words."""
    return re.findall(r"\d+", version)[:3]


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


def arrow_type(kind: DataType) -> object:
    """Return Arrow's type of a column; raises PySparkException if it has none."""
    # Not at the top: it is for previews and tests, and takes longer to import than all of this module.
    from pyspark.sql.pandas.types import to_arrow_type

    zone: dict[str, Any] = {"timezone": "UTC"} if "timezone" in signature(to_arrow_type).parameters else {}
    return to_arrow_type(kind, **zone)


def arrow_schema(kind: StructType) -> object:
    """Return Arrow's schema of rows; raises PySparkException if a column has no type there."""
    from pyspark.sql.pandas.types import to_arrow_schema

    zone: dict[str, Any] = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
    return to_arrow_schema(kind, **zone)


def rounds_within_lists() -> bool:
    """Whether functions over pandas get doubles for the whole numbers of a list or a map that has a NULL."""
    from pyspark.sql import conversion  # not at the top: it takes a fortieth of a CPU second

    return not hasattr(conversion, "ArrowArrayToPandasConversion")


def counts_sampled_rows_twice(spark: SparkSession) -> bool:
    """Whether counts contain the rows of a sort's sample, which Spark computes by a job before that of the rows."""
    return not isinstance(java_class(spark, f"{_EXECUTION}.LastAttemptAggregatingAccumulator"), JavaClass)


def keeps_zeros_apart(spark: SparkSession) -> bool:
    """Whether the unique rows of a stream have 0.0 and -0.0 as two keys: there is nothing else to ask for."""
    return tuple(map(int, minor_of(spark.version).split("."))) < (4, 2)
