"""Questions to compiled pipelines that several tests ask."""

from graph_compiler.deployment.describe.region_descriptors import describe_pipeline
from graph_compiler.explain.plan.plan import PlanDocument, PlanSummary
from graph_compiler.explain.plan.plan_writer import plan_of
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.graphs.job_graph import JobEdge


def region_edges(compiled: CompiledPipeline) -> tuple[JobEdge, ...]:
    """Return the job edges between two deployment regions."""
    edges = compiled.job_graph.edges
    return tuple(edge for edge in edges if compiled.deployment.crosses_regions(edge))


def summary_of(compiled: CompiledPipeline, root: str = "") -> PlanSummary:
    """Return that by which the plan of a pipeline is compared, as it is read back."""
    return PlanDocument.of(plan_of(compiled, describe_pipeline(compiled), root=root).document()).summary()
