"""What can be wrong with where a pipeline writes."""

from __future__ import annotations

from collections.abc import Iterator

from graph_compiler.declaration.connectors import FileConnector
from graph_compiler.declaration.operators import Sink, Source
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.declaration.transformations import (
    PhysicalTransformation,
    problem_at,
)
from graph_compiler.errors import Problem


def sinks(pipeline: Pipeline) -> Iterator[Problem]:
    """Find targets that cannot be written, or that meet."""
    writer: dict[str, PhysicalTransformation] = {}
    reads = {
        _folder(t.operator.connector): t
        for t in pipeline.operators
        if isinstance(t.operator, Source)
    }
    for transformation in pipeline.operators:
        if not isinstance(transformation.operator, Sink):
            continue
        connector = transformation.operator.connector
        folder = _folder(connector)
        if not connector.is_sink:
            yield problem_at(
                transformation, f"{type(connector).__name__} cannot be written", allowed="Parquet"
            )
        other = writer.setdefault(folder, transformation)
        if other is not transformation:
            yield problem_at(
                transformation, f"it writes {folder}, as '{other.name}' does ({other.declared_at})"
            )
        if folder in reads:
            hint = "write elsewhere: a retry would read what the first attempt wrote"
            yield problem_at(
                transformation,
                f"it replaces {folder}, which '{reads[folder].name}' reads",
                hint=hint,
            )


def _folder(connector: FileConnector) -> str:
    """Write a path in one way; templates in it stay as they are."""
    return connector.path.removeprefix("file://").rstrip("/")
