"""Flink's two plan documents: that of its plan visualizer, and that of its REST API for a job."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum
from html import escape

from graph_compiler.deployment.documents.wire import Json, to_wire
from graph_compiler.explain.failure_cost import failure_costs
from graph_compiler.explain.text.option_words import changed_options, option_json
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.graphs.job_graph import JobEdge, JobGraph, JobVertex, ResultPartitionType
from graph_compiler.graphs.stream_graph import StreamGraph, StreamNode

_EXCHANGES = {
    ResultPartitionType.PIPELINED_BOUNDED: "pipelined_bounded",
    ResultPartitionType.BLOCKING: "blocking",
    ResultPartitionType.HYBRID_FULL: "hybrid_full",
    ResultPartitionType.HYBRID_SELECTIVE: "hybrid_selective",
}


def streaming_plan(graph: StreamGraph) -> dict[str, Json]:
    """Return the stream graph in the form of `getStreamingPlanAsJSON`: sinks last, otherwise by node id."""
    sinks = set(graph.sink_ids)
    nodes = sorted(graph.nodes, key=lambda node: (node.id in sinks, node.id))
    return {"nodes": [_node(node, graph) for node in nodes]}


def _node(node: StreamNode, graph: StreamGraph) -> dict[str, Json]:
    kind = "Data Source" if node.id in graph.source_ids else "Data Sink" if node.id in graph.sink_ids else "Operator"
    found: dict[str, Json] = {
        "id": node.id,
        "type": node.name,
        "pact": kind,
        "contents": node.description,
        "parallelism": node.parallelism,
    }
    if node.id not in graph.source_ids:
        # Flink intends to distinguish the first input, but tests for it after adding it.
        found["predecessors"] = [
            {"id": edge.source_id, "ship_strategy": edge.partitioner.name, "side": "second"}
            for edge in graph.in_edges[node.id]
        ]
    return found


def job_plan(graph: JobGraph) -> dict[str, Json]:
    """Return the job graph as `JsonPlanGenerator` does, vertices in the order of creation; the job id is all zeros."""
    return {
        "jid": "0" * 32,
        "name": graph.job_name,
        "type": graph.job_type.value,
        "nodes": [_vertex(graph.vertex[id], graph) for id in graph.creation_order],
    }


def _vertex(vertex: JobVertex, graph: JobGraph) -> dict[str, Json]:
    # Flink escapes it for HTML: quotes, but not apostrophes.
    escaped = escape(vertex.description, quote=False).replace('"', "&quot;")
    description = escaped.replace("\n", "<br/>")
    found: dict[str, Json] = {
        "id": vertex.id,
        "parallelism": -1 if vertex.parallelism is None else vertex.parallelism,
        "operator": "",
        "operator_strategy": "",
        "description": description,
        "optimizer_properties": {},
    }
    if graph.in_edges[vertex.id]:
        found["inputs"] = [_input(number, edge) for number, edge in enumerate(graph.in_edges[vertex.id])]
    return found


def _input(number: int, edge: JobEdge) -> Json:
    return {
        "num": number,
        "id": edge.source_id,
        "ship_strategy": edge.ship_strategy,
        "exchange": _EXCHANGES[edge.result_type],
    }


def plain_json(value: object) -> Json:
    """Encode a dataclass, tuple, enum or plain value; `wire.to_wire` is for documents that are read back."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, tuple | list):
        return [plain_json(item) for item in value]
    assert value is None or isinstance(value, bool | int | float | str), f"{value!r} is not plain"
    return value


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
                            compiled.job_graph.vertex[vertex_id].name for vertex_id in deployment.region[id].vertex_ids
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
