"""The part of a pipeline that one operator's rows come from: regions without all that does not lead there."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace

from graph_compiler.declaration.operators import Filter, Sink
from graph_compiler.deployment.documents.descriptor import (
    OperatorDescriptor,
    RegionDescriptor,
    VertexDescriptor,
)
from graph_compiler.identifiers import IntermediateDataSetId


def only_up_to(regions: Sequence[RegionDescriptor], node_id: int) -> tuple[RegionDescriptor, ...]:
    """Give the regions that an operator needs, its own last, each with the operators that it needs of them."""
    operators = {operator.node_id: operator for operator in _operators(regions)}
    wanted, pending = {node_id}, [node_id]
    while pending:
        for edge in operators[pending.pop()].inputs:
            if edge.node_id not in wanted:
                wanted.add(edge.node_id)
                pending.append(edge.node_id)
    read = {
        edge.staged.id for id in wanted for edge in operators[id].inputs if edge.staged is not None
    }
    cut = (_cut(region, wanted, read) for region in regions)
    return tuple(region for region in cut if region.vertices)


def with_open_end(
    regions: Sequence[RegionDescriptor], node_id: int
) -> tuple[RegionDescriptor, ...]:
    """Give the regions with a sink made an operator that gives out what the sink is given; others stay as they are."""
    return tuple(
        replace(region, vertices=tuple(_open_vertex(vertex, node_id) for vertex in region.vertices))
        for region in regions
    )


def _open_vertex(vertex: VertexDescriptor, node_id: int) -> VertexDescriptor:
    sinks = [
        operator
        for operator in vertex.operators
        if operator.node_id == node_id and isinstance(operator.operator, Sink)
    ]
    ids = {operator.operator_id for operator in sinks}
    return replace(
        vertex,
        operators=tuple(
            replace(operator, operator=Filter("true")) if operator in sinks else operator
            for operator in vertex.operators
        ),
        initialize_on_master=tuple(
            each for each in vertex.initialize_on_master if each.operator_id not in ids
        ),
        coordinators=tuple(each for each in vertex.coordinators if each.operator_id not in ids),
    )


def _cut(
    region: RegionDescriptor, wanted: Set[int], read: Set[IntermediateDataSetId]
) -> RegionDescriptor:
    vertices = (_cut_vertex(vertex, wanted) for vertex in region.vertices)
    return replace(
        region,
        vertices=tuple(vertex for vertex in vertices if vertex.operators),
        results=tuple(result for result in region.results if result.id in read),
    )


def _cut_vertex(vertex: VertexDescriptor, wanted: Set[int]) -> VertexDescriptor:
    operators = tuple(operator for operator in vertex.operators if operator.node_id in wanted)
    ids = {operator.operator_id for operator in operators}
    return replace(
        vertex,
        operators=operators,
        initialize_on_master=tuple(
            each for each in vertex.initialize_on_master if each.operator_id in ids
        ),
        coordinators=tuple(each for each in vertex.coordinators if each.operator_id in ids),
    )


def _operators(regions: Sequence[RegionDescriptor]) -> list[OperatorDescriptor]:
    return [
        operator
        for region in regions
        for vertex in region.vertices
        for operator in vertex.operators
    ]
