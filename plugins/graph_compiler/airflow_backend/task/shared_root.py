"""Every worker must have the same staging root, and every user of its group may write to it."""

from __future__ import annotations

import socket
import time

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from graph_compiler.airflow_backend.task.task_try import TaskTry
from graph_compiler.errors import StagingError, StagingRootNotSharedError, StaleResultError
from graph_compiler.staging.attempts.run_marker import (
    RunMarker,
    not_shared,
    producers,
    see_marker,
)
from graph_compiler.staging.store.root_probe import check_root
from graph_compiler.staging.store.stores import store_of

_UMASK = "spark.hadoop.fs.permissions.umask-mode"
"""Hadoop's umask. Spark-submit's JVM already uses the file system, so a session's setting would come too late."""


def pass_umask(hook: SparkSubmitHook, root: str) -> None:
    """Let executors of another user write into folders that the driver makes, if the root is open to a group."""
    if store_of(root).is_open_to_group(root):
        hook._conf.setdefault(_UMASK, "002")


def _check_store(task: TaskTry) -> None:
    try:
        check_root(task.store, task.layout.root)
    except StagingError as error:
        raise AirflowFailException(f"pipeline '{task.pipeline}': {error}") from None


def see_run(task: TaskTry) -> None:
    """Write the run's marker in its first task, and check it in every other.

    Raises AirflowException if a retry may run on a worker that has the folder; AirflowFailException if the run started
    with another version of the pipeline.
    """
    root = task.layout.root
    if (task.first.try_number or 1) > 1 and not task.store.folders(root):  # an earlier try wrote
        found = "an empty folder, though this task has run before: perhaps its file system is not mounted"
        error = not_shared(root, socket.gethostname(), found)
        raise AirflowException(f"pipeline '{task.pipeline}': {error}")
    if not producers(task.regions):  # it may be the run's first
        _check_store(task)
    marker = RunMarker.of(task.first, host=socket.gethostname(), time=time.time())
    try:
        see_marker(task.store, task.regions, marker)
    except StagingRootNotSharedError as error:
        raise AirflowException(f"pipeline '{task.pipeline}': {error}") from None
    except StaleResultError as error:
        raise AirflowFailException(f"pipeline '{task.pipeline}': {error}") from None
