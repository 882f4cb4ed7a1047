"""Duplicate names of operators, and names that no log, page or terminal could show as they are.

Flink lets operators share a name, since it distinguishes them by their ids. So do the graphs here. But `run --until`
takes the name of an operator, and `history` and the outputs of a run show the names of sinks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from graph_compiler.declaration.operators import ContractOperator, Sink
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.declaration.transformations import (
    PartitionTransformation,
    PhysicalTransformation,
    SideOutputTransformation,
    Transformation,
    problem_at,
)
from graph_compiler.errors import Problem
from graph_compiler.identifiers import plain_line


def unprintable_names(pipeline: Pipeline) -> Iterator[Problem]:
    """Find names with line breaks or other control characters: they could forge lines of a log."""
    for transformation in pipeline.transformations:
        for what, text in _names(transformation):
            if isinstance(text, str) and (shown_text := plain_line(text)) != text:
                yield problem_at(
                    transformation,
                    f"its {what} has a line break or another control character: '{shown_text}'",
                    allowed="printable text in one line",
                )


def _names(transformation: Transformation) -> Iterator[tuple[str, object]]:
    match transformation:
        case PhysicalTransformation():
            operator = transformation.operator
            if transformation.name != operator.default_name:
                yield "name", transformation.name
            yield from transformation.settings.names()
            if isinstance(operator, ContractOperator):
                yield "contract's name", operator.contract
        case PartitionTransformation():
            yield "reason", transformation.staging_text or transformation.pipelining_text
        case SideOutputTransformation():
            yield "tag", transformation.tag
        case _:
            return


def operators_of_one_name(pipeline: Pipeline) -> Iterator[Problem]:
    """Find operators with the same name as an earlier one; sinks are checked when they are deployed."""
    for operator, first in _repeated(t for t in pipeline.operators if not isinstance(t.operator, Sink)):
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
