"""A small Spark session for quick work on one machine, without UI; one for the whole process."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import TypeAlias

from pyspark.sql import DataFrame, SparkSession

from graph_compiler.deployment.documents.jvm_settings import EXECUTOR_ZONE, SESSION, ZONE, driver_defaults
from graph_compiler.driver_jvm.pinned_process import pinned_process

MASTER = "local[2]"
Frame: TypeAlias = DataFrame
Session: TypeAlias = SparkSession
"""The type of a session, for callers that do not import pyspark."""
_SETTINGS = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "4", "spark.driver.bindAddress": "127.0.0.1"}


@contextmanager
def local_session(settings: Mapping[str, str] = MappingProxyType({})) -> Iterator[SparkSession]:
    """Yield this process's running session, else a new one with additional `settings`, which is stopped at the end.

    A new session pins this process's time zone as long as it runs.
    """
    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    # Both before the JVM starts: Python workers need this process's paths, and no network is needed.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master(MASTER).appName("graph_compiler.testing")
    for key, value in {
        **SESSION,
        **_SETTINGS,
        **driver_defaults(MASTER, settings),
        **settings,
        EXECUTOR_ZONE: ZONE,
    }.items():
        builder = builder.config(key, value)
    with pinned_process():
        spark = builder.getOrCreate()
        try:
            yield spark
        finally:
            spark.stop()
