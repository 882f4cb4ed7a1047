"""How many tasks the jobs of Spark have."""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from tests.harness.standalone import until

_GROUP = "tasks of jobs"


@contextmanager
def tasks_of_jobs(spark: SparkSession) -> Iterator[list[int]]:
    """Yield a list that has the number of tasks of each stage at the end."""
    tasks: list[int] = []
    spark.sparkContext.setJobGroup(_GROUP, "count the tasks")
    try:
        yield tasks
        tasks += until(lambda: _tasks(spark), "the jobs to be known", seconds=60)
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]  # removes it


def _tasks(spark: SparkSession) -> list[int]:
    """Return the number of tasks of each stage, as far as Spark's listeners know it."""
    tracker = spark.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(_GROUP)]
    stages = [tracker.getStageInfo(id) for job in jobs if job is not None for id in job.stageIds]
    return [stage.numTasks for stage in stages if stage is not None]
