"""The part of a region that computes one of its results, without its sinks and other results."""

from __future__ import annotations

from graph_compiler.deployment.documents.descriptor import RegionDescriptor, ResultDescriptor
from graph_compiler.spark_runtime.region.region_graph import RegionGraph


def lineage(region: RegionDescriptor, result: ResultDescriptor) -> RegionDescriptor:
    """Return the region with only the operators on the paths to a result."""
    graph = RegionGraph.of(region)
    chain = graph.chain_of(graph.operators[result.node_id])
    return region.only({operator.node_id for operator in chain}, (result,))
