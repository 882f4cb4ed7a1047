"""Options of Spark's file formats that this version of Spark has: it ignores a name that it does not know.

The lists are `DataSourceOptions.getAllOptions` of each format's object (org.apache.spark.sql, since 4.0); 4.3 has more
names than 4.1. Our own names, of the newest version: declaration/connectors/spark_options.py.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import SparkSession

from graph_compiler.spark_runtime.spark_internals.java import scala_object

_SQL = "org.apache.spark.sql"
_LISTS = {
    "csv": f"{_SQL}.catalyst.csv.CSVOptions",
    "json": f"{_SQL}.catalyst.json.JSONOptions",
    "xml": f"{_SQL}.catalyst.xml.XmlOptions",
    "parquet": f"{_SQL}.execution.datasources.parquet.ParquetOptions",
    "orc": f"{_SQL}.execution.datasources.orc.OrcOptions",
    "text": f"{_SQL}.execution.datasources.text.TextOptions",
}
FORMATS = frozenset(_LISTS)
"""The formats whose options Spark lists."""
_OF_ALL_FORMATS = f"{_SQL}.execution.datasources.FileIndexOptions"
NOT_LISTED = frozenset({"ignoreCorruptFiles", "maxRecordsPerFile", "partitionOverwriteMode", "path", "paths"})
"""Options of classes without a list: FileSourceOptions, DataSourceUtils, SQL's writer. All versions have them."""


def options_of_format(spark: SparkSession, format: str) -> frozenset[str]:
    """Return the names of a format's own options, in lower case; `format` is one of FORMATS."""
    return _listed(spark, _LISTS[format])


def options_of_all_formats(spark: SparkSession) -> frozenset[str]:
    """Return the names of options that say which files are read, in lower case."""
    return _listed(spark, _OF_ALL_FORMATS)


def ignored_options(spark: SparkSession, format: str, names: Iterable[str]) -> list[str]:
    """Return the names that this Spark ignores in files of a format; none for a format without a list.

    Names with a dot are Hadoop's or a library's, which have no list.
    """
    own = [name for name in names if "." not in name]
    if not own or format not in FORMATS:
        return []
    known = {name.lower() for name in NOT_LISTED} | options_of_format(spark, format) | options_of_all_formats(spark)
    return [name for name in own if name.lower() not in known]


def _listed(spark: SparkSession, options: str) -> frozenset[str]:
    return frozenset(str(scala_object(spark, options).getAllOptions().mkString(" ")).lower().split())
