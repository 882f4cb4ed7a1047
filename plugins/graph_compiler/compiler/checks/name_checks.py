"""Duplicate names of operators.

Flink lets operators share a name, since it distinguishes them by their ids. So do the graphs here. But `run --until`
takes the name of an operator, and `history` and the outputs of a run show the names of sinks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from graph_compiler.declaration.operators import Sink
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.declaration.transformations import PhysicalTransformation, problem_at
from graph_compiler.errors import Problem


def operators_of_one_name(pipeline: Pipeline) -> Iterator[Problem]:
    """Find operators with the same name as an earlier one; sinks are checked when they are deployed."""
    for operator, first in _repeated(
        t for t in pipeline.operators if not isinstance(t.operator, Sink)
    ):
        yield problem_at(
            operator,
            f"an earlier operator has the same name{_place(first)}",
            hint='Flink allows it, but --until and replay cannot tell them apart: give each its own, .name("…")',
        )


def _repeated(
    operators: Iterable[PhysicalTransformation],
) -> Iterator[tuple[PhysicalTransformation, PhysicalTransformation]]:
    first: dict[str, PhysicalTransformation] = {}
    for operator in operators:
        if operator.name == operator.operator.default_name:
            continue
        if (other := first.setdefault(operator.name, operator)) is not operator:
            yield operator, other


def _place(operator: PhysicalTransformation) -> str:
    return f" ({operator.declared_at})" if operator.declared_at else ""
