"""Templates are for places (DESIGN D6b): find them in a region, and put the rendered values back.

    {"flights.path": "{{ params.input }}/flights.csv"}     keys are for people: Airflow shows them as rendered fields

Airflow renders the values one by one, as strings, before anything is JSON; expressions never pass through Jinja.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from graph_compiler.declaration.connectors import FileConnector
from graph_compiler.declaration.operators import Sink, Source
from graph_compiler.deployment.descriptor import OperatorDescriptor, RegionDescriptor


def find_places(region: RegionDescriptor) -> dict[str, str]:
    """Give every templated string of a region, by a key unique within it."""
    return {key: connector.path for _, key, connector in _places(region)}


def fill_places(region: RegionDescriptor, rendered: Mapping[str, str]) -> RegionDescriptor:
    """Give the region with rendered places; `rendered` has the keys of `find_places`."""
    filled = {
        operator.node_id: replace(operator, operator=_with_path(operator, rendered[key]))
        for operator, key, _ in _places(region)
    }
    vertices = tuple(
        replace(
            vertex,
            operators=tuple(
                filled.get(operator.node_id, operator) for operator in vertex.operators
            ),
        )
        for vertex in region.vertices
    )
    return replace(region, vertices=vertices)


def _places(region: RegionDescriptor) -> Iterator[tuple[OperatorDescriptor, str, FileConnector]]:
    taken: set[str] = set()
    for vertex in region.vertices:
        for operator in vertex.operators:
            if isinstance(operator.operator, Source | Sink):
                key = f"{operator.name}.path"
                key = f"{operator.name}.{operator.node_id}.path" if key in taken else key
                taken.add(key)
                yield operator, key, operator.operator.connector


def _with_path(operator: OperatorDescriptor, path: str) -> Source | Sink:
    assert isinstance(operator.operator, Source | Sink)
    return replace(operator.operator, connector=replace(operator.operator.connector, path=path))
