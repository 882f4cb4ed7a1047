"""Which places differ, as far as a Dag file shows: parameters that are known are filled in, other templates compared.

What only a run knows differs if it is written differently: two templates, or the XComs of two tasks. Of the instances
of a mapped group, what depends on what the group is mapped over.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import Environment

from graph_compiler.airflow_backend.dag.arguments import Arguments
from graph_compiler.airflow_backend.dag.template_variables import parameters_in
from graph_compiler.declaration.connectors import Connector
from graph_compiler.deployment.describe.asset_uris import PARAMETER

_CHUNK = re.compile(r"\{\{.*?\}\}|\{%.*%\}|\{#.*?#\}", re.DOTALL)
_MAP_INDEX = "map_index"
_OF_THE_TASK = ("task_id", "task_instance_key_str")


def filled(
    connector: Connector, arguments: Arguments, task_id: str, templates: Environment
) -> Connector:
    """Return a connector with its known parameters, and a name for each template in which something is unknown."""

    def value(found: re.Match[str]) -> str:
        text = found[0]
        plain = PARAMETER.fullmatch(text)
        name = str(plain[1] or plain[2]) if plain else ""
        if name in arguments.defaults:
            return str(arguments.defaults[name])
        whole = [" ".join(text.strip("{}%# ").split())]
        if any(word in text for word in _OF_THE_TASK):
            whole.append(task_id)
        whole += [
            f"{one}={_token(one, arguments)}" for one in sorted(parameters_in(text, templates))
        ]
        return f"template-{hashlib.sha256(repr(whole).encode()).hexdigest()[:16]}"

    texts = {key: _CHUNK.sub(value, text) for key, text in connector.texts().items()}
    return connector.with_texts(texts)


def is_of_one_instance(connector: Connector, arguments: Arguments, templates: Environment) -> bool:
    """Whether each instance of a mapped group has a place of its own, unless what it is mapped over repeats itself."""
    text = " ".join(connector.texts().values())
    used = parameters_in(text, templates)
    given: list[Any] = [value for name, value in arguments.of_the_run.items() if name in used]
    if any(_MAP_INDEX in one for one in (text, *given) if isinstance(one, str)):
        return True
    mapped = [one for one in given if _is_mapped_argument(one)]
    if any(_is_of_the_group(one) for one in given if one not in mapped):
        return True
    return bool(mapped) and _are_distinct(mapped[0]._input, {one._key for one in mapped})


def _token(name: str, arguments: Arguments) -> str:
    if name in arguments.defaults:
        return repr(arguments.defaults[name])
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


def _are_distinct(mapped: Any, keys: set[str]) -> bool:
    """Whether instances differ in these keys, as far as they are written in the Dag file."""
    over = mapped.value
    if isinstance(over, Mapping):  # each value of one with each of the others
        lists = {key: value for key, value in over.items() if _is_listed(value)}
        if any(len(value) != 1 for key, value in lists.items() if key not in keys):
            return False
        return all(_are_all_different([*lists[key]]) for key in keys & lists.keys())
    if not _is_listed(over):
        return True
    sets = [one for one in over if isinstance(one, Mapping)]
    return _are_all_different([[one.get(key) for key in sorted(keys)] for one in sets])


def _are_all_different(values: Sequence[Any]) -> bool:
    return len({repr(value) for value in values}) == len(values)


def _is_listed(value: Any) -> bool:
    return isinstance(value, Sequence | Mapping) and not isinstance(value, str)
