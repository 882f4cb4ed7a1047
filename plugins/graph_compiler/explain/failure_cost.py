"""The cost of a failure: the work that is repeated when a region fails at its end, and what staged results save.

    flights → with_weather ▒▶ facts → lateness → out      the second task repeats 3 of 5 operators, and reads
                                                          with_weather again instead of computing 2 more

A retry runs all operators of its region, and reads again the sources that it shares with another region of its task;
results of other regions are committed, also those of the same task.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.graphs.regions import DeploymentRegion
from graph_compiler.graphs.stream_graph import StreamGraph
from graph_compiler.identifiers import RegionId


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureCost:
    """What a failure at the end of `region` repeats: operators by name, in the order of its vertices.

    `expensive` are those of `repeated` that are declared so; `reread` the results that other regions have staged for
    it; `spared` is the number of operators before it, in other regions, that are not recomputed.
    """

    region: RegionId
    repeated: tuple[str, ...]
    expensive: tuple[str, ...]
    reread: tuple[str, ...]
    spared: int


def failure_costs(compiled: CompiledPipeline) -> Mapping[RegionId, FailureCost]:
    """Return the cost for each region, in an order in which they can run."""
    before = _ancestors(compiled.stream_graph)
    return {region.id: _cost(region, compiled, before) for region in compiled.deployment.regions}


def _cost(region: DeploymentRegion, compiled: CompiledPipeline, before: Mapping[int, int]) -> FailureCost:
    graph, region_of = compiled.stream_graph, compiled.deployment.region_of_vertex
    job = compiled.job_graph
    inputs = [edge for vertex in region.vertex_ids for edge in job.in_edges[vertex]]
    again = dict.fromkeys(e.stream_edge.source_id for e in inputs if e.reads_source_again)
    ids = [*again, *(id for vertex in region.vertex_ids for id in job.vertex[vertex].node_ids)]
    nodes = [graph.node[id] for id in ids]
    reached = 0
    for id in ids:
        reached |= before[id]
    reread = dict.fromkeys(
        (edge.stream_edge.source_id, edge.stream_edge.output_tag)
        for edge in inputs
        if edge.staging is not None and region_of[edge.source_id].id != region.id
    )
    return FailureCost(
        region=region.id,
        repeated=tuple(node.declared_name for node in nodes),
        expensive=tuple(node.declared_name for node in nodes if node.settings.expensive),
        reread=tuple(graph.node[id].declared_name + (f".{tag}" if tag else "") for id, tag in reread),
        spared=reached.bit_count() - len(ids),
    )


def _ancestors(graph: StreamGraph) -> Mapping[int, int]:
    """Return for each node itself and its ancestors, as bits by the nodes' order: a set for each would be quadratic."""
    found: dict[int, int] = {}
    for number, node in enumerate(graph.nodes):
        found[node.id] = 1 << number
        for edge in graph.in_edges[node.id]:
            found[node.id] |= found.get(edge.source_id, 0)  # not known yet if it is a feedback
    return found
