"""What the stages of a job group did, from Spark's status store (which also exists without its UI).

The store keeps the newest stages and tasks (`spark.ui.retainedStages`, `spark.ui.retainedTasks`): what it no longer has
is not known.

Jobs and stages come as one text each, in the form of Spark's REST API: a call for each of their numbers would take ten
times as long.

`SparkContext.statusStore`, `AppStatusStore.job`, `stageData`, `taskSummary` and `taskList`, `TaskIndexNames`, and
`DAGScheduler.numTotalJobs`, private to Spark in Scala: 4.3.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import SparkSession

from graph_compiler.deployment.documents.actual_execution import MOST_STAGES, Spread, StageRun
from graph_compiler.deployment.documents.report import SlowestTask
from graph_compiler.spark_runtime.spark_internals.java import java_class, once_for_context, scala_object
from graph_compiler.spark_runtime.spark_internals.versions import counts_sampled_rows_twice

LONG = 1_000
"""The total time in milliseconds that a stage's tasks must have run before its slowest task is looked for."""
_MOST_TASKS = 20_000
"""Tasks of a stage whose distribution is asked for: Spark sorts them once for each of its thirty metrics."""


def started_jobs(spark: SparkSession) -> int:
    """Return how many jobs the application has started, in all threads."""
    return int(spark.sparkContext._jsc.sc().dagScheduler().numTotalJobs())


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutedStage:
    """A stage that ran, and the ids of the RDDs that its tasks computed.

    `completed` counts the tasks of all attempts; `is_repeated`: some of them had already succeeded, or their rows count
    in another stage, too.
    """

    run: StageRun
    rdd_ids: frozenset[int]
    completed: int
    is_repeated: bool
    slowest_task: SlowestTask | None = None


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

    @classmethod
    def of(cls, stages: Sequence[ExecutedStage]) -> StageTotals:
        """Add up stages."""
        runs = [stage.run for stage in stages]
        return cls(
            stage_ids=tuple(run.stage_id for run in runs),
            tasks=sum(stage.completed for stage in stages),
            failed_tasks=sum(run.failed_tasks for run in runs),
            repeated_stages=sum(stage.is_repeated for stage in stages),
            input_bytes=sum(run.input_bytes for run in runs),
            spilled_bytes=sum(run.disk_spilled for run in runs),
            shuffle_read_bytes=sum(run.exchange_bytes_read for run in runs),
            shuffle_written_bytes=sum(run.exchange_bytes_written for run in runs),
            slowest_task=max(
                (stage.slowest_task for stage in stages if stage.slowest_task),
                key=lambda slowest: slowest.excess,
                default=None,
            ),
        )


def executed_stages(spark: SparkSession, group: str, *, by_task: bool = True) -> tuple[ExecutedStage, ...]:
    """Return the stages of a job group by id; a stage whose shuffle files already exist has not run.

    Without `by_task`, the tasks of a stage are looked at only if they took long: it is some thirty calls a stage.
    """
    store = _status_store(spark)
    ids = sorted({id for job in _jobs_of(spark, group) for id in _described(spark, store.job(job))["stageIds"]})
    found = {id: [attempt for attempt in _attempts(spark, store, id) if _has_run(attempt)] for id in ids}
    ran = {id: _stage(id, attempts) for id, attempts in found.items() if attempts}
    longest = sorted(ran.values(), key=lambda stage: -stage.run.run_milliseconds)[:MOST_STAGES]
    for stage in longest:
        id = stage.run.stage_id
        if by_task or _is_long(found[id][-1]):
            ran[id] = _with_tasks(spark, store, stage, found[id][-1])
    stages = tuple(ran.values())
    return tuple(_with_samples(stages)) if counts_sampled_rows_twice(spark) else stages


def _with_samples(stages: Sequence[ExecutedStage]) -> Iterator[ExecutedStage]:
    """Yield the stages; one that computes what an earlier one computed, such as a sample, repeats it."""
    before: set[int] = set()
    for stage in stages:
        yield replace(stage, is_repeated=stage.is_repeated or not before.isdisjoint(stage.rdd_ids))
        before |= stage.rdd_ids


def _jobs_of(spark: SparkSession, group: str) -> list[int]:
    context = spark._jsc
    assert context is not None
    tracker = once_for_context(spark, "statusTracker", lambda: context.sc().statusTracker())
    as_text = once_for_context(spark, "Arrays.toString", lambda: java_class(spark, "java.util.Arrays").toString)
    return list(json.loads(str(as_text(tracker.getJobIdsForGroup(group)))))


def _status_store(spark: SparkSession) -> Any:
    context = spark._jsc
    assert context is not None
    return once_for_context(spark, "statusStore", lambda: context.sc().statusStore())


def _described(spark: SparkSession, value: Any) -> Any:
    """Return an object of Spark's REST API as that shows it."""

    def make() -> Any:
        mapper = java_class(spark, "com.fasterxml.jackson.databind.ObjectMapper")()
        return mapper.registerModule(scala_object(spark, "com.fasterxml.jackson.module.scala.DefaultScalaModule"))

    return json.loads(str(once_for_context(spark, "jackson", make).writeValueAsString(value)))


_Described = Mapping[str, Any]


def _has_run(attempt: _Described) -> bool:
    return bool(attempt["numCompleteTasks"] + attempt["numFailedTasks"] + attempt["numKilledTasks"])


def _is_long(attempt: _Described) -> bool:
    return int(attempt["executorRunTime"]) >= LONG


def _attempts(spark: SparkSession, store: Any, id: int) -> list[_Described]:
    no_statuses = once_for_context(spark, "no statuses", java_class(spark, "java.util.ArrayList"))
    no_quantiles = once_for_context(spark, "no quantiles", lambda: _doubles(spark))
    found = _described(spark, store.stageData(id, False, no_statuses, False, no_quantiles))
    return sorted(found, key=lambda attempt: int(attempt["attemptId"]))


def _stage(id: int, attempts: list[_Described]) -> ExecutedStage:
    tasks = max(attempt["numTasks"] for attempt in attempts)  # a later attempt runs only what was lost
    completed = sum(attempt["numCompleteTasks"] for attempt in attempts)

    def total(name: str) -> int:
        return sum(int(attempt[name]) for attempt in attempts)

    run = StageRun(
        stage_id=id,
        attempts=len(attempts),
        tasks=tasks,
        failed_tasks=total("numFailedTasks"),
        run_milliseconds=total("executorRunTime"),
        input_rows=total("inputRecords"),
        input_bytes=total("inputBytes"),
        output_rows=total("outputRecords"),
        output_bytes=total("outputBytes"),
        exchange_rows_read=total("shuffleReadRecords"),
        exchange_bytes_read=total("shuffleReadBytes"),
        exchange_rows_written=total("shuffleWriteRecords"),
        exchange_bytes_written=total("shuffleWriteBytes"),
        memory_spilled=total("memoryBytesSpilled"),
        disk_spilled=total("diskBytesSpilled"),
    )
    return ExecutedStage(
        run=run, rdd_ids=frozenset(attempts[-1]["rddIds"]), completed=completed, is_repeated=completed > tasks
    )


def _with_tasks(spark: SparkSession, store: Any, stage: ExecutedStage, attempt: _Described) -> ExecutedStage:
    """Return a stage with what is known by task. Spark has to sort the tasks, so not if nothing depends on it."""
    run, tasks = stage.run, int(attempt["numCompleteTasks"])
    reads = run.exchange_rows_read > 0
    is_long = _is_long(attempt)
    if tasks == 1 and run.attempts == 1:
        rows, time = run.exchange_rows_read, run.run_milliseconds
        return replace(
            stage, run=replace(run, rows_by_task=Spread.of([rows]) if reads else None, milliseconds=Spread.of([time]))
        )
    if not 2 <= tasks <= _MOST_TASKS or not (reads or is_long):
        return stage
    # Spark takes the task at quantile · tasks, of two the longer one; the median should be the shorter.
    quantiles = _doubles(spark, 0.0, ((tasks - 1) // 2 + 0.5) / tasks, 1.0)
    found = store.taskSummary(attempt["stageId"], attempt["attemptId"], quantiles)
    if found.isEmpty():  # Spark has not kept its tasks (spark.ui.retainedTasks)
        return stage
    summary = found.get()
    indices = java_class(spark, "org.apache.spark.status.TaskIndexNames")

    def spread(values: Any, index: str) -> Spread:
        minimum, median, maximum = (int(value) for value in _each(values))
        largest = _largest_task(spark, store, attempt, index) if maximum > minimum else None
        return Spread(minimum=minimum, median=median, maximum=maximum, largest_task=largest)

    times = spread(summary.executorRunTime(), str(indices.EXEC_RUN_TIME()))
    records = summary.shuffleReadMetrics().readRecords()
    rows_by_task = spread(records, str(indices.SHUFFLE_READ_RECORDS())) if reads else None
    slowest = SlowestTask(
        stage_id=run.stage_id,
        tasks=tasks,
        median_seconds=round(times.median / 1000, 3),
        longest_seconds=round(times.maximum / 1000, 3),
    )
    return replace(
        stage,
        run=replace(run, rows_by_task=rows_by_task, milliseconds=times),
        slowest_task=slowest if is_long else None,
    )


def _largest_task(spark: SparkSession, store: Any, attempt: _Described, index: str) -> int | None:
    """Return the number of the task that is first in an index of the store, in descending order."""
    by, statuses = java_class(spark, "scala.Option").apply(index), java_class(spark, "java.util.ArrayList")()
    statuses.add(java_class(spark, "org.apache.spark.status.api.v1.TaskStatus").SUCCESS)
    found = store.taskList(attempt["stageId"], attempt["attemptId"], 0, 1, by, False, statuses)
    return None if found.isEmpty() else int(found.apply(0).index())


def _doubles(spark: SparkSession, *values: float) -> Any:
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    array = gateway.new_array(java_class(spark, "double"), len(values))
    for place, value in enumerate(values):
        array[place] = value
    return array


def _each(sequence: Any) -> Iterator[Any]:
    return (sequence.apply(index) for index in range(sequence.size()))
