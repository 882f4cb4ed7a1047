"""Airflow's task states as Flink's states of an Execution, in one table.

A retry is a new Execution: if a task waits for a retry, its last attempt has failed.
"""

from __future__ import annotations

from collections.abc import Mapping

from airflow.sdk import TaskInstanceState

from graph_compiler.graphs.execution import ExecutionState

EXECUTION_STATES: Mapping[TaskInstanceState | None, ExecutionState] = {
    None: ExecutionState.CREATED,
    TaskInstanceState.SCHEDULED: ExecutionState.SCHEDULED,
    TaskInstanceState.QUEUED: ExecutionState.DEPLOYING,
    TaskInstanceState.RUNNING: ExecutionState.RUNNING,
    TaskInstanceState.DEFERRED: ExecutionState.RUNNING,
    TaskInstanceState.AWAITING_INPUT: ExecutionState.RUNNING,
    TaskInstanceState.UP_FOR_RESCHEDULE: ExecutionState.RUNNING,
    TaskInstanceState.RESTARTING: ExecutionState.CANCELING,
    TaskInstanceState.SUCCESS: ExecutionState.FINISHED,
    TaskInstanceState.FAILED: ExecutionState.FAILED,
    TaskInstanceState.UP_FOR_RETRY: ExecutionState.FAILED,
    TaskInstanceState.UPSTREAM_FAILED: ExecutionState.CANCELED,
    TaskInstanceState.SKIPPED: ExecutionState.CANCELED,
    TaskInstanceState.REMOVED: ExecutionState.CANCELED,
}
