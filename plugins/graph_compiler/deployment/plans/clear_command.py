"""The command that clears tasks of one run, ready to be pasted into a shell."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.documents.run_identity import NOT_MAPPED
from graph_compiler.identifiers import TaskName, listing


def clear_command(task: TaskDeploymentDescriptor, names: Sequence[TaskName]) -> str:
    """Return how to clear tasks in the run of `task`, with their downstream tasks.

    `airflow tasks clear` selects runs only by their logical date, so a run without one must be cleared in the UI or by
    the API. So must a run with a map index, which the command does not accept.
    """
    run = task.identity
    task_ids = [run.task_id(name) for name in names]
    if run.map_index != NOT_MAPPED:
        return (
            f"in Airflow's UI, clear {listing(task_ids)} of run '{run.run_id}' of '{run.dag_id}', those with map index "
            f"{run.map_index}, downstream tasks included (`airflow tasks clear` takes no map index)"
        )
    if task.logical_date is None:
        return (
            f"in Airflow's UI, clear {listing(task_ids)} of run '{run.run_id}', downstream tasks included "
            "(`airflow tasks clear` finds no run without a logical date)"
        )
    pattern = "|".join(task_id.replace(".", "[.]") for task_id in task_ids)
    date = task.logical_date
    words = ["airflow", "tasks", "clear", "-y", "-d", "-s", date, "-e", date, "-t", f"^({pattern})$"]
    return shlex.join([*words, run.dag_id])
