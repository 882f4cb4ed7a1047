"""The tasks of a plan, the staged edges with their reasons, and the cost of a failure: a document for programs."""

from __future__ import annotations

from graph_compiler.deployment.documents.wire import Json, to_wire
from graph_compiler.explain.failure_cost import failure_costs
from graph_compiler.explain.text.option_words import changed_options, option_json
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline


def deployment_json(compiled: CompiledPipeline) -> dict[str, Json]:
    """Return the tasks in an order in which they can run, and every staged edge; names are those of `explain`."""
    deployment, graph = compiled.deployment, compiled.stream_graph
    costs = failure_costs(compiled)
    return {
        "pipeline": compiled.pipeline.name,
        "operators": len(graph.nodes),
        "options": [option_json(option) for option in changed_options(compiled)],
        "tasks": [
            {
                "task": task.id,
                "slot_sharing_group": task.slot_sharing_group,
                "regions": [
                    {
                        "region": id,
                        "vertices": [
                            compiled.job_graph.vertex[vertex_id].name
                            for vertex_id in deployment.region[id].vertex_ids
                        ],
                        "failure_cost": to_wire(costs[id]),
                    }
                    for id in task.region_ids
                ],
            }
            for task in deployment.tasks
        ],
        "apart": [to_wire(each) for each in deployment.apart],
        "staged": [
            {
                "result": graph.node[edge.stream_edge.source_id].declared_name,
                "output_tag": edge.stream_edge.output_tag,
                "reader": graph.node[edge.stream_edge.target_id].declared_name,
                "from_task": deployment.task_of_vertex(edge.source_id).id,
                "to_task": deployment.task_of_vertex(edge.target_id).id,
                "reason": edge.staging.reason.value,
                "explanation": edge.staging.explanation,
            }
            for edge in compiled.job_graph.edges
            if edge.staging is not None
        ],
    }
