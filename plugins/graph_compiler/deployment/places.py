"""Paths as people and connections write them, and what must hold between the places of one region."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

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
    """Give what is wrong with a region's rendered paths: targets we cannot publish to, and targets that meet."""
    operators = [operator for vertex in region.vertices for operator in vertex.operators]
    return tuple(problem for sink in operators for problem in _sink_problems(sink, operators))


def _sink_problems(
    sink: OperatorDescriptor, operators: list[OperatorDescriptor]
) -> Iterator[Problem]:
    if not isinstance(sink.operator, Sink):
        return
    target = local_path(sink.operator.connector.path)
    if target is None or ".." in target.parts:
        yield Problem(
            operator=sink.name,
            message=f"its target is '{sink.operator.connector.path}'",
            allowed="an absolute path or a file: URI, without '..'",
            declared_at=sink.declared_at,
        )
        return
    for other in operators:
        if other is sink or not isinstance(other.operator, Sink | Source):
            continue
        path = local_path(other.operator.connector.path)
        if path is not None and (
            path == target or path in target.parents or target in path.parents
        ):
            verb = "reads" if isinstance(other.operator, Source) else "writes"
            yield Problem(
                operator=sink.name,
                message=f"it replaces all of {target}, and '{other.name}' {verb} {path}",
                hint="give each its own folder, none inside another",
                declared_at=sink.declared_at,
            )
