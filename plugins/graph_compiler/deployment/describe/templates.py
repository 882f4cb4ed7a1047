"""Templates are only for places (decision 24): find them in the regions of a task, and insert the rendered values.

    {"flights.path": "{{ params.input }}/flights.csv"}     keys are for people: Airflow shows them as rendered fields

Airflow renders the values one by one, as strings, before they become JSON. Expressions and secrets never pass through
Jinja. Each kind of connector decides which of its texts are places (`Connector.texts`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from graph_compiler.declaration.call_checks import located
from graph_compiler.declaration.connectors import Connector
from graph_compiler.declaration.connectors.file_uris import UNKNOWN
from graph_compiler.declaration.operators import Sink, Source
from graph_compiler.declaration.parameters.parameter import ParameterValue
from graph_compiler.deployment.documents.descriptor import (
    OperatorDescriptor,
    RegionDescriptor,
    ResultDescriptor,
    RunValues,
    StagedInput,
)
from graph_compiler.errors import InvalidPipelineError, Problem

Depending = TypeVar("Depending", StagedInput, ResultDescriptor)


def find_places(regions: Iterable[RegionDescriptor]) -> dict[str, str]:
    """Return every templated string of the regions of a task, by a key unique within it."""
    regions = tuple(regions)
    found = {key: value for _, _, key, value in _places(regions)}
    return found | {_key(name): text for values in _run_values(regions) for name, text in values.places}


def fill_places(regions: Sequence[RegionDescriptor], rendered: Mapping[str, str]) -> tuple[RegionDescriptor, ...]:
    """Return the regions with rendered places; `rendered` has the keys of `find_places` of the same regions.

    Raises InvalidPipelineError if a rendered text is one that its connector does not accept from a run's trigger.
    """
    filled: dict[int, dict[str, str]] = {}
    operators: dict[int, OperatorDescriptor] = {}
    for operator, field, key, _ in _places(regions):
        filled.setdefault(operator.node_id, {})[field] = rendered[key]
        operators[operator.node_id] = operator
    if problems := [problem for node_id, texts in filled.items() for problem in _problems(operators[node_id], texts)]:
        raise InvalidPipelineError(regions[0].pipeline, problems)
    return tuple(
        replace(
            region.changed(lambda operator: _with(operator, filled.get(operator.node_id), rendered)),
            results=tuple(_with_values(result, rendered) for result in region.results),
        )
        for region in regions
    )


def _run_values(regions: Iterable[RegionDescriptor]) -> Iterator[RunValues]:
    """Yield what the rows of staged results depend on, of those that regions write and read."""
    for region in regions:
        yield from (result.values for result in region.results)
        read = (each.staged for operator in region.operators for each in operator.inputs)
        yield from (staged.values for staged in read if staged is not None)


def _places(regions: Iterable[RegionDescriptor]) -> Iterator[tuple[OperatorDescriptor, str, str, str]]:
    """Yield (operator, field, key, template) for every path, bound, option and partition that is text."""
    taken: set[str] = set()
    for operator in (operator for region in regions for operator in region.operators):
        if not isinstance(operator.operator, Source | Sink):
            continue
        name = operator.name if operator.name not in taken else f"{operator.name}.{operator.node_id}"
        taken.add(name)
        for field, text in operator.operator.texts().items():
            yield operator, field, f"{name}.{field}", text


def _problems(operator: OperatorDescriptor, rendered: Mapping[str, str]) -> Iterator[Problem]:
    assert isinstance(operator.operator, Source | Sink)
    of_connector = {key: rendered[key] for key in operator.operator.connector.texts()}
    for problem in operator.operator.connector.rendering_problems(of_connector):
        yield located(operator, problem)


def _with(
    operator: OperatorDescriptor, own: Mapping[str, str] | None, rendered: Mapping[str, str]
) -> OperatorDescriptor:
    inputs = tuple(
        each if each.staged is None else replace(each, staged=_with_values(each.staged, rendered))
        for each in operator.inputs
    )
    if own is None:
        return replace(operator, inputs=inputs)
    assert isinstance(operator.operator, Source | Sink)
    return replace(operator, operator=operator.operator.with_texts(own), inputs=inputs)


def _with_values(depending: Depending, rendered: Mapping[str, str]) -> Depending:
    """Return a staged result, or what reads it, with the rendered places that its rows depend on."""
    places = tuple((name, rendered[_key(name)]) for name, _ in depending.values.places)
    return replace(depending, values=replace(depending.values, places=places))


def _key(name: str) -> str:
    return f"{name} (staged)"


def values_of_places(name: str, source: Source) -> RunValues:
    """Return the parameters that the places of a source name, and the places that name what else may be edited."""
    names: set[str] = set()
    places: list[tuple[str, str]] = []
    for field, text in source.texts().items():
        code = " ".join(_TEMPLATE.findall(text))
        names |= {by_dot or by_name for by_dot, by_name in _NAMED.findall(code)}
        if _EDITED.search(code) and not _OF_A_TRY.search(code):
            places.append((f"{name}.{field}", text))
    return RunValues(parameters=tuple(sorted(names)), places=tuple(places))


# The place of a source or a sink as a URI that is the same in every run, without its templated parts.
#
#     {{ params.output }}/delays/day={{ ds }}   →   file:///data/out/delays       params by their defaults
#     jdbc:postgresql://db:5432/shop, sales.orders   →   postgresql://db:5432/shop/sales/orders
#     a table of Spark's catalog, shop.orders   →   x-spark-table:///shop/orders
#
# Users, passwords and connection options are not part of it. Each kind of connector decides which of its fields are.

PARAMETER = re.compile(r"""\{\{\s*params(?:\.(\w+)|\[['"](\w+)['"]\])\s*\}\}""")
"""A template that is a parameter, and nothing else."""
_NAMED = re.compile(r"""\bparams(?:\.(\w+)|\[\s*['"](\w+)['"]\s*\])""")
_EDITED = re.compile(r"\b(?:var|conn|conf)\b|\bxcom_pull\([^)]*\btask_ids\b")
"""What has one value for all tasks of a run, and may be edited meanwhile."""
_OF_A_TRY = re.compile(
    r"try_number|start_date|end_date|_success\b|\bmacros|\brandom\b"
    r"|\btask\.|\b(?:ti|task_instance)\b(?!\.xcom_pull)"
)
"""What differs from task to task, or from try to try."""
_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)


def asset_uri(connector: Connector, defaults: Mapping[str, ParameterValue]) -> str | None:
    """Return the URI; None for a place that no other pipeline can use (rows in the declaration, a query)."""

    def value(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        return str(defaults[name]) if name in defaults else UNKNOWN

    return connector.asset_uri(lambda text: _TEMPLATE.sub(UNKNOWN, PARAMETER.sub(value, text)))


def parameters_in(connector: Connector) -> frozenset[str]:
    """Return the parameters that a connector's place depends on."""
    found = PARAMETER.findall(" ".join(connector.texts().values()))
    return frozenset(name or other for name, other in found)
