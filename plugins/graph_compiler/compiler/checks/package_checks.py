"""Problems of connectors and operators of other packages, which documents must be able to name."""

from __future__ import annotations

from collections.abc import Iterator

from graph_compiler.declaration.connectors import Connector
from graph_compiler.declaration.operators import Operator, Sink, Source
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.declaration.transformations import problem_at
from graph_compiler.errors import Problem
from graph_compiler.extensions import is_foreign, reference, why_not_registered


def unregistered_kinds(pipeline: Pipeline) -> Iterator[Problem]:
    """Find connectors and operators that Spark's driver could not find by name."""
    for transformation in pipeline.operators:
        operator = transformation.operator
        reasons: list[tuple[type[Connector | Operator], str | None]] = []
        if is_foreign(type(operator)):
            reasons.append((type(operator), why_not_registered(type(operator), Operator)))
        if isinstance(operator, Source | Sink) and isinstance(operator.connector, Connector):
            connector = type(operator.connector)
            if is_foreign(connector):
                reasons.append((connector, why_not_registered(connector, Connector)))
        for kind, reason in reasons:
            if reason is not None:
                yield problem_at(
                    transformation,
                    f"Spark's driver cannot find its {kind.__name__}: {reason}",
                    allowed=f'an entry point of {kind.entry_points}, as name = "{reference(kind)}"',
                )
