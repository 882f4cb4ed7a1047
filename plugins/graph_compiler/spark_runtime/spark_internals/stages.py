"""What the stages of a job group did, from Spark's status store (which also exists without its UI).

`SparkContext.statusStore`, `AppStatusStore.stageData` and `taskSummary`, private to Spark in Scala: 4.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from graph_compiler.deployment.documents.report import SlowestTask
from graph_compiler.spark_runtime.spark_internals.java import java_class

LONG = 1_000
"""The total time in milliseconds that a stage's tasks must have run before its slowest task is looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageTotals:
    """Sums over all attempts of all stages that ran. `repeated_stages` ran tasks again that had already succeeded."""

    stage_ids: tuple[int, ...]
    tasks: int
    failed_tasks: int
    repeated_stages: int
    input_bytes: int
    spilled_bytes: int
    shuffle_read_bytes: int
    shuffle_written_bytes: int
    slowest_task: SlowestTask | None


def stage_totals(spark: SparkSession, group: str) -> StageTotals:
    """Add up a job group; a stage whose shuffle files already exist has not run."""
    context = spark.sparkContext
    assert context._jsc is not None
    store = context._jsc.sc().statusStore()
    jobs = [store.job(id) for id in context.statusTracker().getJobIdsForGroup(group)]
    ids = sorted({int(id) for job in jobs for id in _each(job.stageIds())})
    attempts = {id: [a for a in _attempts(spark, store, id) if _has_run(a)] for id in ids}
    ran = [attempt for found in attempts.values() for attempt in found]
    return StageTotals(
        stage_ids=tuple(id for id in ids if attempts[id]),
        tasks=sum(attempt.numCompleteTasks() for attempt in ran),
        failed_tasks=sum(attempt.numFailedTasks() for attempt in ran),
        repeated_stages=sum(_is_repeated(found) for found in attempts.values()),
        input_bytes=sum(attempt.inputBytes() for attempt in ran),
        spilled_bytes=sum(attempt.diskBytesSpilled() for attempt in ran),
        shuffle_read_bytes=sum(attempt.shuffleReadBytes() for attempt in ran),
        shuffle_written_bytes=sum(attempt.shuffleWriteBytes() for attempt in ran),
        slowest_task=max(
            (found for attempt in ran if (found := _slowest_task(spark, store, attempt))),
            key=lambda slowest: slowest.excess,
            default=None,
        ),
    )


def _has_run(attempt: Any) -> bool:
    return bool(attempt.numCompleteTasks() + attempt.numFailedTasks() + attempt.numKilledTasks())


def _attempts(spark: SparkSession, store: Any, id: int) -> list[Any]:
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    no_statuses = java_class(spark, "java.util.ArrayList")()
    no_quantiles = gateway.new_array(java_class(spark, "double"), 0)
    return list(_each(store.stageData(id, False, no_statuses, False, no_quantiles)))


def _slowest_task(spark: SparkSession, store: Any, attempt: Any) -> SlowestTask | None:
    """Return a stage's slowest successful task. Spark has to sort the tasks, so not if all were short."""
    tasks = int(attempt.numCompleteTasks())
    if tasks < 2 or attempt.executorRunTime() < LONG:
        return None
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    quantiles = gateway.new_array(java_class(spark, "double"), 2)
    # Spark takes the task at quantile · tasks, of two the longer one; the median should be the shorter.
    quantiles[0], quantiles[1] = ((tasks - 1) // 2 + 0.5) / tasks, 1.0
    found = store.taskSummary(attempt.stageId(), attempt.attemptId(), quantiles)
    if found.isEmpty():  # Spark has not kept its tasks (spark.ui.retainedTasks)
        return None
    median, longest = _each(found.get().executorRunTime())
    return SlowestTask(
        stage_id=int(attempt.stageId()),
        tasks=tasks,
        median_seconds=round(median / 1000, 3),
        longest_seconds=round(longest / 1000, 3),
    )


def _is_repeated(attempts: list[Any]) -> bool:
    completed = sum(int(attempt.numCompleteTasks()) for attempt in attempts)
    return completed > max((int(attempt.numTasks()) for attempt in attempts), default=0)


def _each(sequence: Any) -> Iterator[Any]:
    return (sequence.apply(index) for index in range(sequence.size()))
