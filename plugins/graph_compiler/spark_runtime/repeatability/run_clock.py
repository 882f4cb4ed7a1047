"""The clock of a task's run: what the run's record says, asked once, and only where an expression needs it."""

from __future__ import annotations

import socket
import time
from datetime import datetime
from functools import cache

from pyspark.sql import SparkSession

from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.spark_runtime.repeatability.current_time import RunClock
from graph_compiler.staging.executions.run_time import Reading, run_time
from graph_compiler.staging.store.staging_store import StagingStore


def run_clock(store: StagingStore, task: TaskDeploymentDescriptor, spark: SparkSession) -> RunClock:
    """Return the clock of the run a task belongs to."""

    @cache
    def now() -> datetime:
        return run_time(store, task, Reading(host=socket.gethostname(), time=time.time()))

    return RunClock(spark, now)
