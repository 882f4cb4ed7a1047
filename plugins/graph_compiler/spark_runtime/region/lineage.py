"""The part of a region that computes one of its results: no sinks, no other results."""

from __future__ import annotations

from dataclasses import replace

from graph_compiler.deployment.documents.descriptor import RegionDescriptor, ResultDescriptor
from graph_compiler.spark_runtime.region.region_graph import RegionGraph


def lineage(region: RegionDescriptor, result: ResultDescriptor) -> RegionDescriptor:
    """Give the region with the operators on the paths to a result, and nothing else."""
    graph = RegionGraph.of(region)
    chain = {operator.node_id for operator in graph.chain_of(graph.operators[result.node_id])}
    vertices = (
        replace(
            vertex,
            operators=tuple(one for one in vertex.operators if one.node_id in chain),
            coordinators=(),
            initialize_on_master=(),
        )
        for vertex in region.vertices
    )
    return replace(
        region, vertices=tuple(vertex for vertex in vertices if vertex.operators), results=(result,)
    )
