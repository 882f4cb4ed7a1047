"""What the stages of a job group did, from Spark's status store (which is there without its UI, too)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from graph_compiler.spark_runtime.java import java_class


@dataclass(frozen=True, slots=True, kw_only=True)
class StageTotals:
    """Sums over all attempts of all stages that ran. `repeated_stages` ran tasks again that had succeeded."""

    stage_ids: tuple[int, ...]
    tasks: int
    failed_tasks: int
    repeated_stages: int
    spilled_bytes: int
    shuffle_read_bytes: int
    shuffle_written_bytes: int


def stage_totals(spark: SparkSession, group: str) -> StageTotals:
    """Add up a job group; a stage whose shuffle files were there already has not run."""
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
        spilled_bytes=sum(attempt.diskBytesSpilled() for attempt in ran),
        shuffle_read_bytes=sum(attempt.shuffleReadBytes() for attempt in ran),
        shuffle_written_bytes=sum(attempt.shuffleWriteBytes() for attempt in ran),
    )


def _has_run(attempt: Any) -> bool:
    return bool(attempt.numCompleteTasks() + attempt.numFailedTasks() + attempt.numKilledTasks())


def _attempts(spark: SparkSession, store: Any, id: int) -> list[Any]:
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    no_statuses = java_class(spark, "java.util.ArrayList")()
    no_quantiles = gateway.new_array(gateway.jvm.double, 0)
    return list(_each(store.stageData(id, False, no_statuses, False, no_quantiles)))


def _is_repeated(attempts: list[Any]) -> bool:
    completed = sum(int(attempt.numCompleteTasks()) for attempt in attempts)
    return completed > max((int(attempt.numTasks()) for attempt in attempts), default=0)


def _each(sequence: Any) -> Iterator[Any]:
    return (sequence.apply(index) for index in range(sequence.size()))
