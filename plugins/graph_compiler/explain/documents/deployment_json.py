"""The tasks of a plan, the staged edges with their reasons, and the cost of a failure: a document for programs."""

from __future__ import annotations

from graph_compiler.deployment.documents.wire import Json, to_wire
from graph_compiler.explain.failure_cost import failure_costs
from graph_compiler.explain.text.option_words import changed_options, option_json
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline


def deployment_json(compiled: CompiledPipeline) -> dict[str, Json]:
    """Return the tasks in an order in which they can run, and every staged edge; names are those of `explain`."""
    deployment, graph = compiled.deployment, compiled.stream_graph
    costs, region_of = failure_costs(compiled), deployment.region_of_vertex
    return {
        "pipeline": compiled.pipeline.name,
        "operators": len(graph.nodes),
        "options": [option_json(option) for option in changed_options(compiled)],
        "tasks": [
            {
                "task": region.id,
                "slot_sharing_group": region.slot_sharing_group,
                "vertices": [compiled.job_graph.vertex[id].name for id in region.vertex_ids],
                "failure_cost": to_wire(costs[region.id]),
            }
            for region in deployment.regions
        ],
        "staged": [
            {
                "result": graph.node[edge.stream_edge.source_id].declared_name,
                "output_tag": edge.stream_edge.output_tag,
                "reader": graph.node[edge.stream_edge.target_id].declared_name,
                "from_task": region_of[edge.source_id].id,
                "to_task": region_of[edge.target_id].id,
                "reason": edge.staging.reason.value,
                "explanation": edge.staging.explanation,
            }
            for edge in compiled.job_graph.edges
            if edge.staging is not None
        ],
    }
