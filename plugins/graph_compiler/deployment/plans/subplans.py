"""The part of a pipeline upstream of one operator: regions with only the operators that lead to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from graph_compiler.declaration.connectors import Parquet
from graph_compiler.declaration.operators import Filter, Sink
from graph_compiler.declaration.retention import Retention
from graph_compiler.deployment.documents.descriptor import (
    OperatorDescriptor,
    RegionDescriptor,
    TaskDeploymentDescriptor,
    VertexDescriptor,
)
from graph_compiler.identifiers import IntermediateDataSetId, path_segment


def only_up_to(regions: Sequence[RegionDescriptor], node_id: int) -> tuple[RegionDescriptor, ...]:
    """Return the regions that an operator needs, its own last, each with only the needed operators."""
    operators = {operator.node_id: operator for region in regions for operator in region.operators}
    wanted, pending = {node_id}, [node_id]
    while pending:
        for edge in operators[pending.pop()].inputs:
            if edge.node_id not in wanted:
                wanted.add(edge.node_id)
                pending.append(edge.node_id)
    read = {edge.staged.id for id in wanted for edge in operators[id].inputs if edge.staged is not None}
    cut = (region.only(wanted, tuple(result for result in region.results if result.id in read)) for region in regions)
    found: list[RegionDescriptor] = []
    for region in cut:
        found += [region] if region.vertices else []
        if any(operator.node_id == node_id for operator in region.operators):
            break  # a later region may read the same source again
    return tuple(found)


def with_open_end(regions: Sequence[RegionDescriptor], node_id: int) -> tuple[RegionDescriptor, ...]:
    """Return the regions with a sink replaced by an operator that passes on its rows; others are unchanged."""
    return tuple(
        replace(region, vertices=tuple(_open_vertex(vertex, node_id) for vertex in region.vertices))
        for region in regions
    )


def _open_vertex(vertex: VertexDescriptor, node_id: int) -> VertexDescriptor:
    if not any(_is_sink(operator, node_id) for operator in vertex.operators):
        return vertex
    rest = vertex.only({operator.node_id for operator in vertex.operators} - {node_id})
    opened = (
        replace(operator, operator=Filter("true")) if operator.node_id == node_id else operator
        for operator in vertex.operators
    )
    return replace(rest, operators=tuple(opened))


def _is_sink(operator: OperatorDescriptor, node_id: int) -> bool:
    return operator.node_id == node_id and isinstance(operator.operator, Sink)


# An execution's descriptor, changed so that running it again writes only to a scratch folder.
#
# It reads the same inputs. It stages and publishes below the scratch folder, with every sink as Parquet.

REPLAY = "replay"
"""The execution id of a replay; each replay has its own scratch folder."""


def redirect(task: TaskDeploymentDescriptor, scratch: str) -> TaskDeploymentDescriptor:
    """Return the task with its staging root and its sinks below `scratch`, an absolute path."""
    region = task.region.changed(lambda operator: _redirected(operator, scratch))
    return replace(
        task,
        # The manifests that it reads refer to real data, which it must not release.
        region=replace(region, retention=Retention()),
        attempt=replace(task.attempt, execution_id=REPLAY),
        staging_root=f"{scratch}/staging",
    )


def staged_inputs(region: RegionDescriptor) -> tuple[IntermediateDataSetId, ...]:
    """Return the results of other tasks that a region reads."""
    own = {result.id for result in region.results}
    read = [
        edge.staged.id
        for operator in region.operators
        for edge in operator.inputs
        if edge.staged is not None and edge.staged.id not in own
    ]
    return tuple(dict.fromkeys(read))


def _redirected(operator: OperatorDescriptor, scratch: str) -> OperatorDescriptor:
    if not isinstance(operator.operator, Sink):
        return operator
    folder = f"{scratch}/sinks/{path_segment(f'{operator.name}-{operator.node_id}')}"
    return replace(operator, operator=Sink(Parquet(folder)))
