"""How a person clears tasks of one run."""

from __future__ import annotations

from collections.abc import Sequence

from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.documents.run_identity import NOT_MAPPED
from graph_compiler.identifiers import TaskName, listing


def how_to_clear(task: TaskDeploymentDescriptor, names: Sequence[TaskName]) -> str:
    """Return how to clear tasks in the run of `task`, with their downstream tasks: in Airflow's UI.

    No command does it. `airflow tasks clear -t` takes no regular expression, though its help says so: it clears each
    task whose id contains the text, and ends as if it had if there is none. It finds a run by its logical date only,
    and takes no map index. The UI clears the task that is chosen, and lists before what it will clear.
    """
    run = task.identity
    instance = f", with map index {run.map_index}" if run.map_index != NOT_MAPPED else ""
    return (
        f"in Airflow's UI, clear {listing([run.task_id(name) for name in names])} of run '{run.run_id}' of "
        f"'{run.dag_id}'{instance}, downstream tasks included; its dialog lists the tasks that will run again. Do not "
        "use `airflow tasks clear`: it may clear other tasks, or none"
    )
