"""Check a task's places against those of the run's other tasks, and Airflow's folders.

Each task renders the places of all tasks, so that the first one refuses overlapping targets. A place that only the
other task can render (with its own try number) is in that task's descriptor, once it has started.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from airflow.configuration import AIRFLOW_HOME, conf
from airflow.sdk import Context
from airflow.sdk.bases.operator import BaseOperator
from airflow.sdk.exceptions import AirflowFailException

from graph_compiler.airflow_backend.dag.template_variables import variables_in
from graph_compiler.airflow_backend.task.task_try import TaskTry
from graph_compiler.deployment.describe.templates import fill_places, find_places
from graph_compiler.deployment.documents.descriptor import RegionDescriptor, TaskDeploymentDescriptor
from graph_compiler.errors import InvalidPipelineError, Problem
from graph_compiler.staging.publications.places import (
    Endpoint,
    OwnFolder,
    endpoints_of,
    find_place_problems,
    recorded_endpoints,
    task_problems,
)

OF_ONE_TASK = frozenset(
    {"ti", "task", "task_instance", "task_instance_key_str", "map_index_template", "expanded_ti_count"}
    | {"inlets", "outlets", "inlet_events", "outlet_events", "exception", "reason", "try_number"}
)
"""Airflow's variables that differ from task to task; another task's values are only in its own descriptor."""


def check_places(task: TaskTry, others: Sequence[RegionDescriptor], operator: BaseOperator, known: Context) -> None:
    """Raise AirflowFailException for places that are invalid, or overlap those of other regions."""
    rendered = rendered_endpoints(others, operator, known) if others else ()
    folders = tuple(_folders(known))
    for execution in task.executions:
        ends = (*rendered, *_of_siblings(execution, task), *_recorded(execution, others))
        _refuse(task, task_problems(execution, others=ends, folders=folders))


def check_recorded_places(task: TaskTry, others: Sequence[RegionDescriptor]) -> None:
    """Raise AirflowFailException if a target overlaps a place in the descriptor of another task of the run."""
    for execution in task.executions:
        recorded = _recorded(execution, others)
        _refuse(task, find_place_problems(execution.region, others=recorded))


def _of_siblings(execution: TaskDeploymentDescriptor, task: TaskTry) -> Iterator[Endpoint]:
    for region in task.regions:
        if region.region_id != execution.region.region_id:
            yield from endpoints_of(region)


def _recorded(execution: TaskDeploymentDescriptor, others: Sequence[RegionDescriptor]) -> tuple[Endpoint, ...]:
    ids = [region.region_id for region in others]
    return recorded_endpoints(execution.layout, execution.region, ids)


def _refuse(task: TaskTry, problems: Sequence[Problem]) -> None:
    if problems:
        raise AirflowFailException(str(InvalidPipelineError(task.pipeline, problems)))


def rendered_endpoints(
    regions: Iterable[RegionDescriptor], operator: BaseOperator, known: Context
) -> tuple[Endpoint, ...]:
    """Return the rendered sources and sinks of other tasks; those that cannot be rendered are left out.

    `known` are the variables with which this task's own places were rendered.
    """
    templates = operator.get_template_env()
    found: list[Endpoint] = []
    for region in regions:
        rendered, left_out = dict[str, str](), set[str]()
        for key, text in find_places([region]).items():
            rendered[key] = text
            if "{{" in text or "{%" in text:
                try:
                    asked = variables_in(text, templates)
                    rendered[key] = str(operator.render_template(text, known, templates))
                except Exception:  # its own task will report it
                    asked = set(OF_ONE_TASK)
                if asked & OF_ONE_TASK:
                    left_out.add(key.rpartition(".")[0])
        filled = endpoints_of(*fill_places([region], rendered))
        found += [end for end in filled if not _is_left_out(end, left_out)]
    return tuple(found)


def _is_left_out(end: Endpoint, left_out: Iterable[str]) -> bool:
    name = end.operator.name
    keys = (name, f"{name}.{end.operator.node_id}", f"{name}.options")
    return any(key in left_out for key in keys)


def _folders(context: Context) -> Iterator[OwnFolder]:
    """Yield the folders of this Airflow that no sink may overwrite."""
    for section, key, what in (
        ("core", "dags_folder", "the Dags folder"),
        ("core", "plugins_folder", "the plugins folder"),
        ("logging", "base_log_folder", "Airflow's log folder"),
    ):
        if path := conf.get(section, key, fallback=None):
            yield OwnFolder(path=path, what=what)
    bundle = getattr(context.get("ti"), "bundle_instance", None)
    if path := getattr(bundle, "path", None):
        yield OwnFolder(path=str(path), what="the folder of its Dag bundle", takes_targets=True)
    yield OwnFolder(path=str(AIRFLOW_HOME), what="Airflow's home (AIRFLOW_HOME)", takes_targets=True)
