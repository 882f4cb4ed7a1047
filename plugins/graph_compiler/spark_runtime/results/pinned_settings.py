"""Every setting that can change the rows of files that this project wrote, with a value that changes no rows.

A cluster may set them in `spark-defaults.conf`, in `core-site.xml` or in a session, for its own sources, which keep
them. Settings that Spark accepts as options of a read or write are options here; the rest is set in the session that
plans the read. `tests/spark/results/test_pinned_settings.py` sets each to its worst value, and checks all settings that
Spark registers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession

from graph_compiler.spark_runtime.spark_internals.java import hadoop_configuration

_CHECKSUMS = {
    # The file system that writes checksum files and verifies what it reads. Hadoop caches one file system per scheme,
    # with the settings of its first user, so the cache is not used here.
    "fs.file.impl": "org.apache.hadoop.fs.LocalFileSystem",
    "fs.file.impl.disable.cache": "true",
    "fs.file.checksum.verify": "true",
}
_FILTER = "mapreduce.input.pathFilter.class"
_ANY_FILE = {
    "ignoreCorruptFiles": "false",
    "ignoreMissingFiles": "false",
    "ignoreInvalidPartitionPaths": "false",
    "ignoredPathSegmentRegex": "^[._]",
    # Matches every file that Spark writes; no value means "no filter".
    _FILTER: "org.apache.hadoop.mapred.OutputLogFilter",
}
READ_OPTIONS: Mapping[str, str] = {
    **_CHECKSUMS,
    **_ANY_FILE,
    "mergeSchema": "false",
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
    "parquet.page.verify-checksum.enabled": "true",
}
"""Options of a read of staged Parquet files."""
WRITE_OPTIONS: Mapping[str, str] = {
    **_CHECKSUMS,
    "maxRecordsPerFile": "0",  # a partition is one file
    "mapreduce.output.basename": "part",
    "parquet.page.write-checksum.enabled": "true",  # for readers that do not use Hadoop
}
"""Options of a write of staged Parquet files."""
TARGET_OPTIONS: Mapping[str, str] = {
    **_ANY_FILE,
    "recursiveFileLookup": "false",
    "orc.skip.corrupt.data": "false",
    "orc.force.positional.evolution": "false",
}
"""Options for reading the rows of a target that a sink keeps: a merge replaces old rows by those it has read."""

READ_SESSION: Mapping[str, str] = {
    "spark.sql.sources.useV1SourceList": "avro,csv,json,kafka,orc,parquet,text",
    "spark.sql.caseSensitive": "false",
    "spark.sql.parquet.binaryAsString": "false",
    "spark.sql.parquet.int96AsTimestamp": "true",
    "spark.sql.parquet.int96TimestampConversion": "false",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
    "spark.sql.parquet.fieldId.read.enabled": "false",
    "spark.sql.parquet.ignoreVariantAnnotation": "false",
    "spark.sql.legacy.parquet.nanosAsLong": "false",
}
"""Settings of the session that plans a read of staged files."""
WRITE_SESSION: Mapping[str, str] = {
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.writeLegacyFormat": "false",
}
"""Settings in effect while staged files are written."""


def needed_here(spark: SparkSession, options: Mapping[str, str]) -> dict[str, str]:
    """Return options of a read without the filter of files, unless this cluster sets another one.

    Spark lists more than 32 files or folders on executors, and cannot send them a filter.
    """
    is_set = hadoop_configuration(spark).get(_FILTER) is not None
    return {key: value for key, value in options.items() if is_set or key != _FILTER}


@contextmanager
def pinned(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Set a session's settings within the `with` block, and restore them afterwards."""
    before = {key: spark.conf.get(key, None) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, old in before.items():
            if old is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, old)
