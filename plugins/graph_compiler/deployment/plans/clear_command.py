"""The command that has tasks of one run run again, ready to be pasted."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.identifiers import listing


def clear_command(task: TaskDeploymentDescriptor, task_ids: Sequence[str]) -> str:
    """Say how to clear tasks of the run of `task`, with all behind them.

    `airflow tasks clear` selects runs by their logical date alone: one without is cleared in the UI, or by the API.
    """
    if task.logical_date is None:
        return (
            f"in Airflow's UI, clear {listing(task_ids)} of run '{task.attempt.run_id}', downstream tasks included "
            "(`airflow tasks clear` finds no run without a logical date)"
        )
    pattern = f"^({'|'.join(task_ids)})$"
    date = task.logical_date
    words = ["airflow", "tasks", "clear", "-y", "-d", "-s", date, "-e", date, "-t", pattern]
    return shlex.join([*words, task.region.pipeline])
