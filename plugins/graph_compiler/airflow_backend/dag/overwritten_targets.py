"""Targets of which a run of a Dag would keep only the last rows: of two groups, or two instances of a mapped group.

Each group, and each instance, is a run of the pipeline with a publication of its own, and a sink that overwrites
replaces what the one before it has published. The other modes keep what others have written, or fail.

Places are compared as far as they are known before a run: `distinct_places.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from airflow.sdk import DAG
from jinja2 import Environment

from graph_compiler.airflow_backend.dag.distinct_places import filled, is_of_one_instance
from graph_compiler.airflow_backend.task.task_operator import DeploymentTaskOperator
from graph_compiler.declaration.connectors import Connector, SinkMode
from graph_compiler.declaration.operators import Sink
from graph_compiler.deployment.documents.descriptor import OperatorDescriptor
from graph_compiler.errors import Problem


def overwritten_targets(
    dag: DAG, tasks: Iterable[DeploymentTaskOperator], templates: Environment
) -> Iterator[Problem]:
    """Find targets of new tasks that others of the Dag, or other instances of a mapped group, write, too.

    `templates` is the Dag's environment, which has Airflow's filters.
    """
    ours = tuple(tasks)
    ids = {task.task_id for task in ours}
    others = [task for task in dag.tasks if isinstance(task, DeploymentTaskOperator)]
    taken = [
        (other, sink, connector)
        for other in others
        if other.task_id not in ids
        for sink, connector in _sinks(other, templates)
    ]
    for task in ours:
        for sink, connector in _sinks(task, templates):
            met = (
                (other, theirs)
                for other, theirs, there in taken
                if connector.meets(there) and (_overwrites(sink) or _overwrites(theirs))
            )
            if (found := next(met, None)) is not None:
                words = f"'{found[1].name}' of task '{found[0].task_id}' writes the same target in this Dag"
                yield _problem(sink, words)
            elif _is_overwritten(sink, task, templates):
                yield _problem(
                    sink, "its group is mapped, and several instances have the same target"
                )


def _is_overwritten(
    sink: OperatorDescriptor, task: DeploymentTaskOperator, templates: Environment
) -> bool:
    """Whether another instance of a mapped group overwrites a sink's target."""
    if not _overwrites(sink) or task.get_closest_mapped_task_group() is None:
        return False
    return not is_of_one_instance(_operator(sink).connector, task.arguments, templates)


def _sinks(
    task: DeploymentTaskOperator, templates: Environment
) -> Iterator[tuple[OperatorDescriptor, Connector]]:
    """Yield the sinks of a task, and their connectors with the values that are known."""
    for region in task.regions:
        for each in region.operators:
            if isinstance(each.operator, Sink):
                yield each, filled(each.operator.connector, task.arguments, task.task_id, templates)


def _operator(sink: OperatorDescriptor) -> Sink:
    assert isinstance(sink.operator, Sink)
    return sink.operator


def _overwrites(sink: OperatorDescriptor) -> bool:
    return _operator(sink).mode is SinkMode.OVERWRITE


def _problem(sink: OperatorDescriptor, words: str) -> Problem:
    return Problem(
        operator=sink.name,
        message=f"{words}; a sink that overwrites replaces what others have published there",
        hint="let the path depend on an argument of the group (params), or use mode='append', "
        "'overwrite-partitions' or 'merge'",
        declared_at=sink.declared_at,
    )
