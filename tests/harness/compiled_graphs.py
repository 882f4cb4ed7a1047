"""Questions to compiled pipelines that several tests ask."""

from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.graphs.job_graph import JobEdge


def region_edges(compiled: CompiledPipeline) -> tuple[JobEdge, ...]:
    """Return the job edges between two deployment regions."""
    edges = compiled.job_graph.edges
    return tuple(edge for edge in edges if compiled.deployment.crosses_regions(edge))
