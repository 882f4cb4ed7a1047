"""A Spark session for quick work on one machine: small, without UI, one for the whole process."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import TypeAlias

from pyspark.sql import DataFrame, SparkSession

from graph_compiler.deployment.documents.session import SESSION

MASTER = "local[2]"
Frame: TypeAlias = DataFrame
Session: TypeAlias = SparkSession
"""For those above, who do not import pyspark."""
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.driver.bindAddress": "127.0.0.1",
}


@contextmanager
def local_session(settings: Mapping[str, str] = MappingProxyType({})) -> Iterator[SparkSession]:
    """Yield the session that runs in this process, else a new one with more `settings`, which ends here."""
    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    # Both before the JVM: the workers of the user's functions need what this process has, and no network is needed.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master(MASTER).appName("graph_compiler.testing")
    for key, value in {**SESSION, **_SETTINGS, **settings}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()
