"""What a plan says of an operator: its settings, and the columns of its rows, as text.

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
from graph_compiler.declaration.operators import Operator, Sink
from graph_compiler.declaration.operators.known_columns import Known, common
from graph_compiler.graphs.stream_graph import StreamGraph
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


def column_flow(graph: StreamGraph) -> Mapping[int, Known]:
    """Return the columns of each node's main output, None if they are unknown; of a sink, those that it is given."""
    given: dict[int, list[Known]] = {}
    found: dict[int, Known] = {}
    for node in graph.nodes:
        inputs: dict[int, list[Known]] = {}
        for edge in graph.in_edges[node.id]:
            columns = found.get(edge.source_id)
            if edge.output_tag is not None and edge.source_id in given:
                columns = graph.node[edge.source_id].operator.columns_aside(given[edge.source_id])
            inputs.setdefault(edge.type_number, []).append(columns)
        given[node.id] = [common(each) for each in inputs.values()]
        is_sink = isinstance(node.operator, Sink)
        found[node.id] = given[node.id][0] if is_sink else node.operator.columns_after(given[node.id])
    return found


def column_words(known: Known) -> str | None:
    """Return columns in one line, without the types that are unknown; None if nothing is known."""
    if not known:
        return None
    words = [str(each) for each in known[:_MOST_COLUMNS]]
    words = [each if len(each) <= _LONGEST_TYPE else f"{each[:_LONGEST_TYPE]}…" for each in words]
    more = [f"and {len(known) - _MOST_COLUMNS} more"] if len(known) > _MOST_COLUMNS else []
    return ", ".join([*words, *more])
