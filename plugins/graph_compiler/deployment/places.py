"""Paths as people and connections write them, and what must hold between the places of one region."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePosixPath

from graph_compiler.declaration.connectors import Connector, FileConnector
from graph_compiler.declaration.operators import Sink, Source
from graph_compiler.deployment.descriptor import OperatorDescriptor, RegionDescriptor
from graph_compiler.errors import Problem


def local_path(uri: str) -> PurePosixPath | None:
    """Give the path of `file:` URIs and absolute paths, without trailing slashes; None for anything else."""
    for prefix in ("file://", "file:"):
        if uri.startswith(prefix + "/"):
            uri = uri.removeprefix(prefix)
            break
    return PurePosixPath(uri) if uri.startswith("/") else None


def find_place_problems(region: RegionDescriptor) -> tuple[Problem, ...]:
    """Give what is wrong with a region's rendered places.

    Targets we cannot publish to, targets that meet another place, and what only a rendered connector can get wrong
    (bounds that turn out to be no numbers).
    """
    operators = [operator for vertex in region.vertices for operator in vertex.operators]
    return tuple(
        problem
        for operator in operators
        for problem in (*_connector_problems(operator), *_sink_problems(operator, operators))
    )


def _connector_problems(operator: OperatorDescriptor) -> Iterator[Problem]:
    if isinstance(operator.operator, Source | Sink):
        for problem in operator.operator.connector.mistakes():
            yield replace(problem, operator=operator.name, declared_at=operator.declared_at)


def _sink_problems(
    sink: OperatorDescriptor, operators: list[OperatorDescriptor]
) -> Iterator[Problem]:
    if not isinstance(sink.operator, Sink):
        return
    connector = sink.operator.connector
    target = _path(connector)
    if isinstance(connector, FileConnector) and (target is None or ".." in target.parts):
        yield Problem(
            operator=sink.name,
            message=f"its target is '{connector.path}'",
            allowed="an absolute path or a file: URI, without '..'",
            declared_at=sink.declared_at,
        )
        return
    for other in operators:
        if other is sink or not isinstance(other.operator, Sink | Source):
            continue
        if connector.meets(other.operator.connector):
            verb = "reads" if isinstance(other.operator, Source) else "writes"
            there = _path(other.operator.connector) or other.operator.connector.place
            yield Problem(
                operator=sink.name,
                message=f"it {sink.operator.mode.verb} {target or connector.place}, and '{other.name}' {verb} {there}",
                hint="give each its own folder, none inside another",
                declared_at=sink.declared_at,
            )


def _path(connector: Connector) -> PurePosixPath | None:
    return local_path(connector.path) if isinstance(connector, FileConnector) else None
