"""Targets of which a run of a Dag would keep only the last rows: of two groups, or two instances of a mapped group.

Each group, and each instance, is a run of the pipeline with a publication of its own, and a sink that overwrites
replaces what the one before it has published. The other modes keep what others have written, or fail.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from airflow.sdk import DAG
from airflow.sdk.bases.operator import BaseOperator
from jinja2 import Environment

from graph_compiler.airflow_backend.dag.template_variables import variables_in
from graph_compiler.airflow_backend.task.other_places import OF_ONE_TASK
from graph_compiler.airflow_backend.task.task_operator import DeploymentTaskOperator
from graph_compiler.declaration.connectors import SinkMode
from graph_compiler.declaration.operators import Sink
from graph_compiler.deployment.describe.asset_uris import filled_place, parameters_in
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
    others = [
        task
        for task in dag.tasks
        if isinstance(task, DeploymentTaskOperator) and task.task_id not in ids
    ]
    taken = {
        place: (other, sink)
        for other in others
        for sink in _sinks(other)
        if (place := _place(sink, other)) is not None
    }
    for task in ours:
        for sink in _sinks(task):
            found = taken.get(_place(sink, task) or "")
            if found is not None and (_overwrites(sink) or _overwrites(found[1])):
                yield _problem(
                    sink,
                    f"'{found[1].name}' of task '{found[0].task_id}' writes the same target in this Dag",
                )
            elif (
                _overwrites(sink)
                and is_mapped(task)
                and not _is_of_one_instance(sink, task, templates)
            ):
                yield _problem(
                    sink, "its group is mapped, and all its instances have the same target"
                )


def is_mapped(task: BaseOperator) -> bool:
    """Whether a task, or a group around it, is mapped."""
    return task.get_closest_mapped_task_group() is not None


def _is_of_one_instance(
    sink: OperatorDescriptor, task: DeploymentTaskOperator, templates: Environment
) -> bool:
    """Whether a target depends on what its group is mapped over."""
    connector = _operator(sink).connector
    asked = variables_in(connector.place or "", templates)
    return bool(asked & OF_ONE_TASK or parameters_in(connector) & task.arguments.of_the_run)


def _sinks(task: DeploymentTaskOperator) -> Iterator[OperatorDescriptor]:
    for region in task.regions:
        yield from (each for each in region.operators if isinstance(each.operator, Sink))


def _operator(sink: OperatorDescriptor) -> Sink:
    assert isinstance(sink.operator, Sink)
    return sink.operator


def _place(sink: OperatorDescriptor, task: DeploymentTaskOperator) -> str | None:
    return filled_place(_operator(sink).connector, task.arguments.defaults)


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
