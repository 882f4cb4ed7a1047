"""Targets of which a run of a Dag would keep only the last rows: of two groups, or two instances of a mapped group.

Each group, and each instance, is a run of the pipeline with a publication of its own, and a sink that overwrites
replaces what the one before it has published. The other modes keep what others have written, or fail.

Places are compared as far as they are known before a run (`filled`). Each place is looked up among those
before it, so the time for a Dag of many groups grows with their number, not with its square.
"""

from __future__ import annotations

import hashlib
import re
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import islice, product
from typing import Any, TypeAlias

from airflow.sdk import DAG
from jinja2 import Environment

from graph_compiler.airflow_backend.dag.arguments import Arguments
from graph_compiler.airflow_backend.dag.template_variables import only_parameters_in, parameters_of_text
from graph_compiler.airflow_backend.task.task_operator import DeploymentTaskOperator
from graph_compiler.declaration.connectors import Connector, SinkMode
from graph_compiler.declaration.operators import Sink
from graph_compiler.deployment.describe.templates import PARAMETER
from graph_compiler.deployment.documents.descriptor import OperatorDescriptor
from graph_compiler.errors import Problem

Key: TypeAlias = tuple[object, ...]


def overwritten_targets(dag: DAG, tasks: Iterable[DeploymentTaskOperator], templates: Environment) -> Iterator[Problem]:
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
                yield _problem(sink, "its group is mapped, and several instances have the same target")


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

    def add_tasks_before(self, first: DeploymentTaskOperator, dag: DAG, templates: Environment) -> None:
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


def _is_overwritten(sink: OperatorDescriptor, task: DeploymentTaskOperator, templates: Environment) -> bool:
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


def _sinks(task: DeploymentTaskOperator, templates: Environment) -> Iterator[tuple[OperatorDescriptor, Connector]]:
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


# Which places differ, as far as a Dag file shows: templates of known parameters are rendered, others compared.
#
# What only a run knows differs if it is written differently: two templates, or the XComs of two tasks. The instances of
# a mapped group are rendered one by one if what the group is mapped over is in the file. What a file does not show, the
# ledger of the target does (`staging/publications/ledger.py`).

_CHUNK = re.compile(r"\{\{.*?\}\}|\{%.*%\}|\{#.*?#\}", re.DOTALL)
_MAP_INDEX = "map_index"
_OF_THE_TASK = ("task_id", "task_instance_key_str")
_MOST_INSTANCES = 4096
"""How many instances are rendered at most; Airflow's own limit, `max_map_length`, is 1024."""


def filled(
    connector: Connector,
    arguments: Arguments,
    task_id: str,
    templates: Environment,
    instance: Mapping[str, object] | None = None,
) -> Connector:
    """Return a connector with its known parameters, and a name for each template in which something is unknown.

    `instance` has the values of one instance of a mapped group.
    """
    known = {**arguments.defaults, **(instance or {})}

    def value(found: re.Match[str]) -> str:
        text = found[0]
        plain = PARAMETER.fullmatch(text)
        name = str(plain[1] or plain[2]) if plain else ""
        if name in known:
            return str(known[name])
        if (rendered := _rendered(text, known, templates)) is not None:
            return rendered
        whole = [" ".join(text.strip("{}%# ").split())]
        if any(word in text for word in _OF_THE_TASK):
            whole.append(task_id)
        whole += [
            f"{one}={repr(known[one]) if one in known else _token(one, arguments)}"
            for one in sorted(parameters_of_text(text, templates))
        ]
        return f"template-{hashlib.sha256(repr(whole).encode()).hexdigest()[:16]}"

    texts = {key: _CHUNK.sub(value, text) for key, text in connector.texts().items()}
    return connector.with_texts(texts)


def instances(connector: Connector, arguments: Arguments, task_id: str, templates: Environment) -> Iterator[Connector]:
    """Yield the connectors of a mapped group's instances, as far as they are known; two if all are the same.

    Nothing is yielded if each may have a place of its own.
    """
    text = " ".join(connector.texts().values())
    used = parameters_of_text(text, templates)
    given: dict[str, Any] = {name: value for name, value in arguments.of_the_run.items() if name in used}
    if any(_MAP_INDEX in one for one in (text, *given.values()) if isinstance(one, str)):
        return
    mapped = {name: value for name, value in given.items() if _is_mapped_argument(value)}
    if any(_is_of_the_group(value) for name, value in given.items() if name not in mapped):
        return
    values = _values(mapped) if mapped else iter([{}, {}])
    for one in islice(values, _MOST_INSTANCES):
        yield filled(connector, arguments, task_id, templates, one)


def _rendered(text: str, known: Mapping[str, object], templates: Environment) -> str | None:
    """Return what Airflow will render, None if something else than known parameters is in it."""
    asked = only_parameters_in(text, templates)
    if asked is None or not asked <= known.keys():
        return None
    try:
        return templates.from_string(text).render(params=dict(known))
    except Exception:  # of a filter: the task will report it
        return None


def _values(mapped: Mapping[str, Any]) -> Iterator[Mapping[str, object]]:
    """Yield the values of each instance, as far as they are in the Dag file; twice if other values repeat it."""
    over = next(iter(mapped.values()))._input.value
    keys = {name: argument._key for name, argument in mapped.items()}
    if isinstance(over, Mapping):  # each value of one with each of the others
        lists = {key: list(_items(value)) for key, value in over.items() if _is_listed(value)}
        others = (len(values) for key, values in lists.items() if key not in keys.values())
        times = 1 if all(length == 1 for length in others) else 2
        used = [key for key in lists if key in keys.values()]
        if times == 1 and not used:
            return
        for one in product(*(lists[key] for key in used)):
            of_keys = dict(zip(used, one, strict=True))
            found = {name: of_keys[key] for name, key in keys.items() if key in of_keys}
            yield from [found] * times
    elif _is_listed(over):
        for one in over:
            if isinstance(one, Mapping):
                yield {name: _value(one.get(key)) for name, key in keys.items()}


def _token(name: str, arguments: Arguments) -> str:
    value: Any = arguments.of_the_run.get(name)
    if _is_mapped_argument(value):
        return f"mapped {id(value._input)} {value._key}"
    return repr(value)


def _is_mapped_argument(value: Any) -> bool:
    """Whether it is Airflow's stand-in for what a task group is mapped over."""
    return hasattr(value, "_input") and hasattr(value, "_key")


def _is_of_the_group(value: Any) -> bool:
    """Whether it is an XCom of a task that is mapped, too."""
    references = getattr(value, "iter_references", None)
    if references is None:
        return False
    return any(task.get_closest_mapped_task_group() is not None for task, _ in references())


def _items(value: Sequence[Any] | Mapping[Any, Any]) -> Iterator[object]:
    yield from value.items() if isinstance(value, Mapping) else map(_value, value)


def _value(value: object) -> object:
    return value.isoformat() if isinstance(value, date) else value


def _is_listed(value: Any) -> bool:
    return isinstance(value, Sequence | Mapping) and not isinstance(value, str)
