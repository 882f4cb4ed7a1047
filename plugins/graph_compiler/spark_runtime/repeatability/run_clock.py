"""The clock of a task's run, which is read once, from the run's record, and only if an expression needs it."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cache

from pyspark.sql import DataFrame, SparkSession

from graph_compiler.declaration.operators import Source
from graph_compiler.deployment.documents.descriptor import OperatorDescriptor, TaskDeploymentDescriptor
from graph_compiler.spark_runtime.spark_internals.current_times import StoppedClock
from graph_compiler.staging.attempts.run_marker import RunTimeReading, run_time
from graph_compiler.staging.store.staging_store import StagingStore

_SPECIAL_TEXT = re.compile(r"""['"]\s*(now|today|tomorrow|yesterday)\b""", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RunClock:
    """The run's current time, which replaces Spark's."""

    spark_clock: StoppedClock

    def stop_for(self, operator: OperatorDescriptor, rows: DataFrame) -> DataFrame:
        """Return an operator's rows with every current time replaced by the run's.

        The strings 'now' and 'today' are only searched for if its SQL text contains them, or if its text is not known.
        """
        kind = operator.operator
        is_opaque = bool(kind.functions()) or isinstance(kind, Source)
        return self.spark_clock.stop_in(
            rows,
            may_be_special=mentions_special_strings(kind.expressions())
            or (is_opaque and self.spark_clock.holds_special_strings(rows)),
        )


def run_clock(
    store: StagingStore,
    task: TaskDeploymentDescriptor,
    spark: SparkSession,
    other: Callable[[], datetime] | None = None,
) -> RunClock:
    """Return the clock of a task's run, or one that shows another time."""

    @cache
    def now() -> datetime:
        return (
            other()
            if other is not None
            else run_time(store, task, RunTimeReading(host=socket.gethostname(), time=time.time()))
        )

    return RunClock(StoppedClock(spark, now))


def mentions_special_strings(expressions: tuple[str, ...]) -> bool:
    """Whether SQL text contains one of the strings that Spark casts to the current time: 'now', 'today'."""
    return any(_SPECIAL_TEXT.search(expression) for expression in expressions)
