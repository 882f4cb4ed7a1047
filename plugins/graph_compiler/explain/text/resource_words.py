"""The resources of a task and the needs of a vertex, as text; empty if none are declared."""

from __future__ import annotations

from collections.abc import Mapping

from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.graphs.job_graph import JobVertex
from graph_compiler.graphs.regions import DeploymentRegion
from graph_compiler.identifiers import JobVertexId, counted, listing


def region_words(region: DeploymentRegion, compiled: CompiledPipeline) -> str:
    """Return the resources of the region's slot sharing group as text."""
    group = compiled.job_graph.resource_profile.get(region.slot_sharing_group)
    return "" if group is None else f"    [slot sharing group {group}]"


def split_words(compiled: CompiledPipeline) -> Mapping[JobVertexId, str]:
    """Return the number of input splits of a vertex's sources as text, if their connectors know it in advance."""
    graph = compiled.execution_graph
    counts = {
        vertex.id: sum(len(assigner.splits) for assigner in vertex.input_splits)
        for vertex in (graph.vertices if graph else ())
        if vertex.input_splits
    }
    return {id: f"    [{counted(count, 'input split')}]" for id, count in counts.items()}


def vertex_words(vertex: JobVertex, compiled: CompiledPipeline) -> str:
    """Return the needs of the vertex as text; if only some of its operators declare any, why the sum is unknown."""
    least, preferred = vertex.min_resources, vertex.preferred_resources
    if least is not None:
        prefers = f", prefers {preferred}" if preferred not in (None, least) else ""
        return f"    [needs {least}{prefers}]"
    nodes = [compiled.stream_graph.node[id] for id in vertex.node_ids[-len(vertex.operator_ids) :]]
    silent = [f"'{node.declared_name}'" for node in nodes if node.settings.min_resources is None]
    if len(silent) == len(nodes):
        return ""
    return f"    [needs: unknown, since {listing(silent)} {_declare(len(silent))} none]"


def _declare(operators: int) -> str:
    return "declares" if operators == 1 else "declare"
