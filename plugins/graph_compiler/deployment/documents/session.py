"""Settings that every Spark application of ours has, since they decide what rows mean."""

from __future__ import annotations

from collections.abc import Mapping

SESSION: Mapping[str, str] = {
    "spark.sql.ansi.enabled": "true",
    # Spark's default, INT96, is deprecated and says nothing of UTC: other engines read local times from it.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.session.timeZone": "UTC",
}
"""Settings pinned for every application, since they can change a result."""
