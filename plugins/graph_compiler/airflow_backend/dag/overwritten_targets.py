"""Targets of which a run of a Dag would keep only the last rows: of two groups, or two instances of a mapped group.

Each group, and each instance, is a run of the pipeline with a publication of its own, and a sink that overwrites
replaces what the one before it has published. The other modes keep what others have written, or fail.

Places are compared as far as they are known before a run: `distinct_places.py`. Each place is looked up among those
before it, so the time for a Dag of many groups grows with their number, not with its square.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeAlias

from airflow.sdk import DAG
from jinja2 import Environment

from graph_compiler.airflow_backend.dag.distinct_places import filled, instances
from graph_compiler.airflow_backend.task.task_operator import DeploymentTaskOperator
from graph_compiler.declaration.connectors import Connector, SinkMode
from graph_compiler.declaration.operators import Sink
from graph_compiler.deployment.documents.descriptor import OperatorDescriptor
from graph_compiler.errors import Problem

Key: TypeAlias = tuple[object, ...]


def overwritten_targets(
    dag: DAG, tasks: Iterable[DeploymentTaskOperator], templates: Environment
) -> Iterator[Problem]:
    """Find targets of new tasks that others of the Dag, or other instances of a mapped group, write, too.

    `templates` is the Dag's environment, which has Airflow's filters.
    """
    ours = tuple(tasks)
    taken = _targets_of(dag)
    taken.add_tasks_before(ours[0], dag, templates)
    for task in ours:
        for sink, connector in _sinks(task, templates):
            if (found := taken.find(connector, overwrites=_overwrites(sink))) is not None:
                yield _problem(sink, f"{found} writes the same target in this Dag")
            elif _is_overwritten(sink, task, templates):
                yield _problem(
                    sink, "its group is mapped, and several instances have the same target"
                )


@dataclass(slots=True)
class _Places:
    """Places by their keys, each with the name of its first sink; `around` has the folders around them."""

    exact: dict[Key, str] = field(default_factory=dict)
    around: dict[Key, str] = field(default_factory=dict)

    def find(self, key: Key) -> str | None:
        """Return the sink of a place that meets one: the same, one around it, or one in it."""
        above = (self.exact.get(key[:length]) for length in range(1, len(key) + 1))
        return next((name for name in above if name is not None), None) or self.around.get(key)

    def add(self, key: Key, name: str) -> None:
        self.exact.setdefault(key, name)
        for length in range(1, len(key)):
            self.around.setdefault(key[:length], name)


@dataclass(slots=True)
class _Targets:
    """The targets of a Dag's first tasks."""

    seen: int = 0
    of_all: _Places = field(default_factory=_Places)
    of_overwriting: _Places = field(default_factory=_Places)

    def add_tasks_before(
        self, first: DeploymentTaskOperator, dag: DAG, templates: Environment
    ) -> None:
        """Add the tasks that the Dag has got since the last time, in the order in which it got them."""
        for task in islice(dag.task_dict.values(), self.seen, None):
            if task is first:
                return
            self.seen += 1
            if isinstance(task, DeploymentTaskOperator):
                for sink, connector in _sinks(task, templates):
                    if (key := connector.place_key()) is not None:
                        name = f"'{sink.name}' of task '{task.task_id}'"
                        self.of_all.add(key, name)
                        if _overwrites(sink):
                            self.of_overwriting.add(key, name)

    def find(self, connector: Connector, *, overwrites: bool) -> str | None:
        """Return the sink that must not write to the place, too: one of them overwrites."""
        key = connector.place_key()
        if key is None:
            return None
        return (self.of_all if overwrites else self.of_overwriting).find(key)


_TARGETS: dict[int, _Targets] = {}


def _targets_of(dag: DAG) -> _Targets:
    if id(dag) not in _TARGETS:  # the hash of a Dag changes with its tasks
        _TARGETS[id(dag)] = _Targets()
        weakref.finalize(dag, _TARGETS.pop, id(dag), None).atexit = False
    return _TARGETS[id(dag)]


def _is_overwritten(
    sink: OperatorDescriptor, task: DeploymentTaskOperator, templates: Environment
) -> bool:
    """Whether another instance of a mapped group overwrites a sink's target."""
    if not _overwrites(sink) or task.get_closest_mapped_task_group() is None:
        return False
    places, connector = _Places(), _operator(sink).connector
    for number, one in enumerate(instances(connector, task.arguments, task.task_id, templates)):
        if (key := one.place_key()) is None:
            return False
        if places.find(key) is not None:
            return True
        places.add(key, str(number))
    return False


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
