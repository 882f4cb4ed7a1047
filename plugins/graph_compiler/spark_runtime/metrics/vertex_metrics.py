"""Combine the metrics of each vertex, as pure functions.

Footers take precedence: the rows in a sink or a staged result are exactly those of its producer. Spark's counts are
used for the operators in between.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graph_compiler.declaration.operators import Sink
from graph_compiler.deployment.documents.descriptor import OperatorDescriptor, RegionDescriptor
from graph_compiler.deployment.documents.report import ActionMetrics, OperatorMetrics, VertexMetrics
from graph_compiler.identifiers import IntermediateDataSetId
from graph_compiler.spark_runtime.region.region_graph import Output


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsKnown:
    """Rows by output: `counted` by Spark, some `too_high`; `committed` in files. `staged`: rows of inputs.

    `same`: an output and an earlier one with equally many rows (only columns change); in topological order.
    """

    counted: Mapping[Output, int]
    too_high: frozenset[Output]
    committed: Mapping[Output, int]
    staged: Mapping[IntermediateDataSetId, int]
    same: tuple[tuple[Output, Output], ...]


def vertex_metrics(
    region: RegionDescriptor, known: RowsKnown, actions: tuple[ActionMetrics, ...]
) -> tuple[VertexMetrics, ...]:
    """Return the metrics of every vertex, in the region's order."""
    exact = _spread(
        {**_rows_of_single_inputs(region.operators, known.committed), **known.committed}, known.same
    )
    rows = _spread({**known.counted, **exact}, known.same)
    too_high = _spread(dict.fromkeys(known.too_high, 0), known.same).keys() - exact.keys()
    return tuple(
        VertexMetrics(
            vertex_id=vertex.vertex_id,
            name=vertex.name,
            operators=tuple(
                OperatorMetrics(
                    name=operator.name,
                    rows_in=_rows_in(operator, rows, known.staged),
                    rows_out=rows.get((operator.node_id, None)),
                    side_rows=tuple(
                        (tag, rows.get((operator.node_id, tag)))
                        for tag in operator.operator.output_tags()
                    ),
                    may_be_too_high=any(output[0] == operator.node_id for output in too_high),
                )
                for operator in vertex.operators
            ),
            seconds=_seconds(vertex.vertex_id, actions),
        )
        for vertex in region.vertices
    )


def _spread(
    rows: Mapping[Output, int], same: tuple[tuple[Output, Output], ...]
) -> dict[Output, int]:
    """Copy known counts to outputs with equally many rows: up the graph, then down."""
    found = dict(rows)
    for output, before in reversed(same):
        if output in found:
            found.setdefault(before, found[output])
    for output, before in same:
        if before in found:
            found.setdefault(output, found[before])
    return found


def _rows_of_single_inputs(
    operators: Sequence[OperatorDescriptor], committed: Mapping[Output, int]
) -> dict[Output, int]:
    """Return the rows of outputs that only a sink reads: those it wrote."""
    return {
        (edge.node_id, edge.output_tag): committed[sink.node_id, None]
        for sink in operators
        if isinstance(sink.operator, Sink) and (sink.node_id, None) in committed
        for edge in sink.inputs
        if len(sink.inputs) == 1 and edge.staged is None
    }


def _rows_in(
    operator: OperatorDescriptor,
    rows: Mapping[Output, int],
    staged: Mapping[IntermediateDataSetId, int],
) -> int | None:
    """Return the number of rows that an operator read; None for a source, or if one of its inputs is unknown."""
    inputs = [
        rows.get((edge.node_id, edge.output_tag))
        if edge.staged is None
        else staged.get(edge.staged.id)
        for edge in operator.inputs
    ]
    known = [count for count in inputs if count is not None]
    return sum(known) if inputs and len(known) == len(inputs) else None


def _seconds(vertex_id: str, actions: tuple[ActionMetrics, ...]) -> float | None:
    mine = [action.seconds for action in actions if action.vertex_id == vertex_id]
    return round(sum(mine), 3) if mine else None
