"""Which places differ, as far as a Dag file shows: templates of known parameters are rendered, others compared.

What only a run knows differs if it is written differently: two templates, or the XComs of two tasks. The instances of a
mapped group are rendered one by one if what the group is mapped over is in the file. What a file does not show, the
ledger of the target does (`staging/publications/ledger.py`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from itertools import islice, product
from typing import Any

from jinja2 import Environment

from graph_compiler.airflow_backend.dag.arguments import Arguments
from graph_compiler.airflow_backend.dag.template_variables import (
    only_parameters_in,
    parameters_in,
)
from graph_compiler.declaration.connectors import Connector
from graph_compiler.deployment.describe.asset_uris import PARAMETER

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
            for one in sorted(parameters_in(text, templates))
        ]
        return f"template-{hashlib.sha256(repr(whole).encode()).hexdigest()[:16]}"

    texts = {key: _CHUNK.sub(value, text) for key, text in connector.texts().items()}
    return connector.with_texts(texts)


def instances(
    connector: Connector, arguments: Arguments, task_id: str, templates: Environment
) -> Iterator[Connector]:
    """Yield the connectors of a mapped group's instances, as far as they are known; two if all are the same.

    Nothing is yielded if each may have a place of its own.
    """
    text = " ".join(connector.texts().values())
    used = parameters_in(text, templates)
    given: dict[str, Any] = {
        name: value for name, value in arguments.of_the_run.items() if name in used
    }
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
