"""The options of file formats that we know are those that the installed Spark has."""

import pytest
from pyspark.sql import SparkSession

from graph_compiler.declaration.connectors.spark_options import OF_FILES, OF_FORMATS
from graph_compiler.spark_runtime.spark_internals.java import scala_object

pytestmark = pytest.mark.spark
CLASSES = {
    "csv": "catalyst.csv.CSVOptions",
    "json": "catalyst.json.JSONOptions",
    "xml": "catalyst.xml.XmlOptions",
    "parquet": "execution.datasources.parquet.ParquetOptions",
    "orc": "execution.datasources.orc.OrcOptions",
    "text": "execution.datasources.text.TextOptions",
}
NOT_LISTED = {*("ignoreCorruptFiles", "maxRecordsPerFile"), *("partitionOverwriteMode", "path", "paths")}
"""Names of classes that have no list: FileSourceOptions, DataSourceUtils, SQL's writer."""


def names(spark: SparkSession, options: str) -> set[str]:
    found = scala_object(spark, f"org.apache.spark.sql.{options}").getAllOptions()
    return {name.lower() for name in found.mkString(" ").split()}


@pytest.mark.parametrize(("format", "options"), CLASSES.items(), ids=CLASSES)
def test_the_options_of_a_format_are_those_of_spark(format: str, options: str, spark: SparkSession) -> None:
    of_spark = {name for name in names(spark, options) if "." not in name}
    assert {name.lower() for name in OF_FORMATS[format]} == of_spark


def test_the_options_of_all_files_are_those_of_spark(spark: SparkSession) -> None:
    of_spark = names(spark, "execution.datasources.FileIndexOptions")
    assert {name.lower() for name in OF_FILES - NOT_LISTED} == of_spark
