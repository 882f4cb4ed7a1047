"""Functions that drawn pipelines call."""

from pyspark.sql import DataFrame, SparkSession

NULL = "nil"
"""The text of NULL in CSV files."""
FOLDER = "spark.machine.{name}"
"""The setting that has the folder of a source without a connector."""


def unchanged(rows: DataFrame) -> DataFrame:
    """Return the rows."""
    return rows


def by_condition(rows: DataFrame, condition: str) -> tuple[DataFrame, dict[str, DataFrame]]:
    """Return the rows for which a condition is true, and the others: two conditions, as one writes them."""
    return rows.where(condition), {"rest": rows.where(f"NOT coalesce({condition}, false)")}


def with_lookup(rows: DataFrame, folder: str) -> DataFrame:
    """Return the rows that have a line in files of JSON, with the sum of both."""
    lines = rows.sparkSession.read.json(folder)
    return rows.join(lines, "v").selectExpr("k", "v + w AS v")


def lenient(spark: SparkSession, name: str = "in-0") -> DataFrame:
    """Return the rows of CSV files without records that do not fit in the columns that are read."""
    folder = spark.conf.get(FOLDER.format(name=name))
    assert folder is not None
    reader = spark.read.option("mode", "DROPMALFORMED").option("header", "true")
    return reader.option("nullValue", NULL).schema("x STRING, v BIGINT").csv(folder)


def another_lenient(spark: SparkSession) -> DataFrame:
    """Return the rows of another source of this kind."""
    return lenient(spark, "in-1")
