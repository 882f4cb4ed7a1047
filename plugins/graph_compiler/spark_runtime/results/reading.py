"""Read staged files so that their manifest alone determines the rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql.types import StructType

from graph_compiler.deployment.documents.manifest import DataFile, Manifest
from graph_compiler.errors import PartitionNotFoundError
from graph_compiler.spark_runtime.publishing.literal_paths import literal_path
from graph_compiler.spark_runtime.results.pinned_settings import READ_OPTIONS, READ_SESSION, needed_here
from graph_compiler.spark_runtime.spark_internals.exact_schemas import with_schema
from graph_compiler.spark_runtime.spark_internals.file_listings import listed_files, load_files


def read_staged_files(
    spark: SparkSession,
    manifest: Manifest,
    schema: StructType,
    files: Collection[DataFile],
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """Return the rows of some files of a manifest, at least one.

    Raises PartitionNotFoundError if Spark lists any other files.
    """
    paths = [literal_path(f"{manifest.location}/{file.name}") for file in files]
    reader = pinned_reader(spark).options(**(options or {}))
    rows = load_files(reader.schema(schema).format("parquet"), paths)
    _check_listing(rows, manifest, files)
    return with_schema(rows, schema, spark)


def pinned_reader(spark: SparkSession) -> DataFrameReader:
    """Return a reader with the pinned options for staged files."""
    return pinned_session(spark, READ_SESSION).read.options(**needed_here(spark, READ_OPTIONS))


def pinned_session(spark: SparkSession, settings: Mapping[str, str]) -> SparkSession:
    """Return the session itself if it has these settings, otherwise a copy with them."""
    wrong = {key: value for key, value in settings.items() if spark.conf.get(key, None) != value}
    if not wrong:
        return spark
    reader = spark.newSession()
    for key, value in spark.conf.getAll.items():
        if spark.conf.isModifiable(key):
            reader.conf.set(key, value)
    for key, value in wrong.items():
        reader.conf.set(key, value)
    return reader


def _check_listing(rows: DataFrame, manifest: Manifest, files: Collection[DataFile]) -> None:
    """Raise PartitionNotFoundError if Spark lists other files or sizes (a filter of the cluster may hide a file)."""
    found = listed_files(rows)
    wanted = len(files), sum(file.bytes for file in files)
    if found != wanted:
        raise PartitionNotFoundError(
            f"Spark lists {found[0]} files with {found[1]:,} bytes in {manifest.location}; "
            f"its manifest names {wanted[0]} with {wanted[1]:,} (epoch {manifest.epoch} of {manifest.result_id})"
        )
