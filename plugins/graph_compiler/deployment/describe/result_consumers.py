"""The regions that read each staged result, and the results whose copies may have to be compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from graph_compiler.declaration.operators import Sink
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.identifiers import RegionId

Output = tuple[int, str | None]
"""A node and the tag of its output, None for the main one."""


def result_consumers(compiled: CompiledPipeline) -> dict[Output, tuple[RegionId, ...]]:
    """Return the regions that read each staged output."""
    found: dict[Output, dict[RegionId, None]] = {}
    for staged in compiled.job_graph.staged_edges:
        edge = staged.stream_edge
        readers = found.setdefault((edge.source_id, edge.output_tag), {})
        readers[region_of(compiled, edge.target_id)] = None
    return {output: tuple(readers) for output, readers in found.items()}


def compared_results(
    compiled: CompiledPipeline, consumers: Mapping[Output, tuple[RegionId, ...]]
) -> frozenset[Output]:
    """Return the staged outputs whose recomputation may come after a consumer has finished.

    The task that recomputes a result has not finished. So either the result has other consumers; or the task reads from
    the only consumer, whose own result is also lost, and which has other outputs.
    """
    staged = Counter(region_of(compiled, node_id) for node_id, _ in consumers)
    sinks = Counter(
        region_of(compiled, node.id)
        for node in compiled.stream_graph.nodes
        if isinstance(node.operator, Sink)
    )
    found = set()
    for output, readers in consumers.items():
        others = [reader for reader in readers if reader != region_of(compiled, output[0])]
        left_beside = [
            reader for reader in others if staged[reader] and staged[reader] + sinks[reader] > 1
        ]
        if len(others) > 1 or left_beside:
            found.add(output)
    return frozenset(found)


def region_of(compiled: CompiledPipeline, node_id: int) -> RegionId:
    """Return the region of a node."""
    vertex = compiled.job_graph.vertex_of_node[node_id]
    return compiled.deployment.region_of_vertex[vertex.id].id
