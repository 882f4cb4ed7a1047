"""What a plan says of an operator: its settings for people and for comparisons, and the columns of its rows, as text.

    Join(on=(("k", "id"), ("day", "day")), how=LEFT)   →   on: k = id · how: left
                                                            on: day

Settings that are not set are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any

from graph_compiler.declaration.connectors import Secret
from graph_compiler.declaration.functions import FunctionRef
from graph_compiler.declaration.operators import Operator, PreviousVersion
from graph_compiler.declaration.operators.known_columns import Known
from graph_compiler.deployment.describe.fingerprints import OwnFacts
from graph_compiler.deployment.documents.wire import Json
from graph_compiler.explain.plan.plan import Facts
from graph_compiler.graphs.stream_graph import StreamNode
from graph_compiler.identifiers import counted

_MOST_DETAILS = 20
_LONGEST_DETAIL = 300
_ROWS = "rows"
_UNSHOWN = "attributes"


def operator_details(operator: Operator) -> tuple[str, ...]:
    """Return at most twenty lines, each of a few hundred characters; rows in the declaration are only counted."""
    said = [_shortened(words) for words in _of_dataclass(operator)]
    more = len(said) - _MOST_DETAILS
    return (*said[:_MOST_DETAILS], *([f"… and {more} more"] if more > 0 else []))


def _shortened(words: str) -> str:
    one_line = " ".join(words.split())
    return one_line if len(one_line) <= _LONGEST_DETAIL else f"{one_line[:_LONGEST_DETAIL]}…"


def _of_dataclass(value: Any) -> Iterator[str]:
    for field in fields(value):
        found = getattr(value, field.name)
        if field.name != _UNSHOWN and found != _default(field):
            yield from _words(field.name, found)


def _default(field: Field[Any]) -> object:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return None if field.default is MISSING else field.default


def _words(name: str, value: Any) -> Iterator[str]:
    match value:
        case FunctionRef() | Secret():
            yield f"{name}: {value}"
        case _ if is_dataclass(value):
            yield f"{name}: {type(value).__name__}"
            yield from _of_dataclass(value)
        case tuple():
            yield from _tuple_words(name, value)
        case Mapping():
            for key, item in value.items():
                yield from _words(f"{name}.{key}", item)
        case _:
            yield f"{name}: {value}"


def _tuple_words(name: str, items: tuple[Any, ...]) -> Iterator[str]:
    if name == _ROWS:
        yield f"{name}: {counted(len(items), 'row')}"
    elif all(isinstance(item, tuple) and len(item) == 2 for item in items):
        for one, other in items:
            yield f"{name}: {one}" if one == other else f"{name}: {one} = {other}"
    else:
        yield f"{name}: {', '.join(map(str, items))}"


_MOST_COLUMNS = 20
_LONGEST_TYPE = 60
"""Characters of a type: structs may have any number."""


def column_words(known: Known) -> str | None:
    """Return columns in one line, without the types that are unknown; None if nothing is known."""
    if not known:
        return None
    words = [str(each) for each in known[:_MOST_COLUMNS]]
    words = [each if len(each) <= _LONGEST_TYPE else f"{each[:_LONGEST_TYPE]}…" for each in words]
    more = [f"and {len(known) - _MOST_COLUMNS} more"] if len(known) > _MOST_COLUMNS else []
    return ", ".join([*words, *more])


# The settings of an operator that can change its rows, for comparing two versions.

_DIGEST = 12


def operator_facts(node: StreamNode, own: OwnFacts) -> Facts:
    """Return the own facts of a node, each as a text under its path: `("connector.path", "/in")`."""
    facts = dict(own)
    declared, inputs = facts.pop("operator"), facts.pop("inputs")
    assert isinstance(declared, dict)
    assert isinstance(inputs, list)
    operator = dict(declared)
    kind: dict[str, Json] = {"operator": operator.pop("type")}
    if isinstance(node.operator, PreviousVersion):  # no fact for fingerprints, but one that users compare
        operator["backfill"] = node.operator.backfill.value
    routes = {f"input {number}": route for number, route in enumerate(inputs, start=1)}
    return tuple(flat("", kind | operator | facts | routes))


def flat(path: str, value: Json) -> Iterator[tuple[str, str]]:
    """Yield every value with its path; for a dataclass of the wire, its type is under its own path."""
    if isinstance(value, dict):
        for key, item in value.items():
            inner = f"{path}.{key}" if path else key
            yield from flat(path if key == "type" and path else inner, item)
    elif isinstance(value, list):
        yield from _flat_list(path, value)
    elif value is not None:
        yield path, str(value)[:_DIGEST] if path.endswith("source_digest") else str(value)


def _flat_list(path: str, items: list[Json]) -> Iterator[tuple[str, str]]:
    """Yield plain items together, and other items one by one."""
    plain = [item for item in items if item is not None and not isinstance(item, dict | list)]
    if plain:
        yield path, ", ".join(map(str, plain))
    for number, item in enumerate(items):
        if isinstance(item, dict | list):
            yield from flat(f"{path}[{number}]", item)
