"""The settings of all our Spark applications that determine what rows mean."""

from __future__ import annotations

from collections.abc import Mapping

RECORDED: Mapping[str, str] = {
    "spark.sql.ansi.enabled": "true",
    # Spark's default, INT96, is deprecated and does not imply UTC: other engines read it as local times.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.session.timeZone": "UTC",
}
"""Settings that descriptors and fingerprints have."""
OF_PANDAS: Mapping[str, str] = {
    # With false, numbers that pandas functions return wrap or lose digits without an error.
    "spark.sql.execution.pandas.convertToArrowArraySafely": "true",
    # With true, frames have columns of Int64, but pandas rounds some of their numbers (its issue 63903).
    "spark.sql.execution.pythonUDF.pandas.preferIntExtensionDtype": "false",
}
"""Defaults of Spark 4.3, pinned by the driver: they are in no fingerprint, so runs that began without them continue."""
SESSION: Mapping[str, str] = {**RECORDED, **OF_PANDAS}
"""Settings pinned for every application, since they can change a result."""
STRICT_SOURCES = "spark.graph_compiler.strict_sources"
"""The setting that is "false" if sources read as in versions before 0.2: option `sources.strict`."""
