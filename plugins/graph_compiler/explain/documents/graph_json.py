"""The graphs as Flink's own documents, which are compared with Flink's (decision 20): no plan is needed for them.

The names are those of Flink's REST API. A job vertex is named by its number in topological order, a data set
`<producer>#<n>`, a subtask `<vertex>:<n>`.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from graph_compiler.compiler.job_graph.chaining import chain_breaks
from graph_compiler.compiler.job_graph.hasher import hash_nodes
from graph_compiler.compiler.regions.deployment_regions import logical_pipelined_regions
from graph_compiler.declaration.resources.resource_spec import ResourceSpec
from graph_compiler.deployment.documents.wire import Json, to_wire
from graph_compiler.graphs.execution_graph import (
    ExecutionGraph,
    ExecutionJobVertex,
    ExecutionVertexId,
    IntermediateResult,
)
from graph_compiler.graphs.job_graph import JobEdge, JobGraph, JobVertex, ResultPartitionType
from graph_compiler.graphs.stream_graph import JobType, StreamGraph, StreamNode, VirtualPartition, VirtualSideOutput
from graph_compiler.identifiers import IntermediateDataSetId, JobVertexId
from graph_compiler.options.model import PipelineOptions


def stream_graph_json(graph: StreamGraph, options: PipelineOptions) -> dict[str, Json]:
    """Return nodes, edges and virtual nodes, with hashes and chaining."""
    breaks = chain_breaks(graph, options)
    hashes = hash_nodes(graph, breaks)
    return {
        "job_type": graph.job_type,
        "dynamic": graph.is_dynamic,
        "sources": list(graph.source_ids),
        "sinks": list(graph.sink_ids),
        "virtual_nodes": {
            "side_outputs": [
                {"id": node.id, "of": node.origin_id, "tag": node.tag}
                for node in graph.virtual_nodes
                if isinstance(node, VirtualSideOutput)
            ],
            "partitions": [
                {
                    "id": node.id,
                    "of": node.origin_id,
                    "partitioner": node.declared.partitioner.name if node.declared.partitioner else None,
                    "exchange_mode": node.declared.exchange_mode,
                }
                for node in graph.virtual_nodes
                if isinstance(node, VirtualPartition)
            ],
        },
        "nodes": [
            {
                "id": node.id,
                "name": node.name,
                "parallelism": node.parallelism,
                "max_parallelism": node.max_parallelism or -1,
                "slot_sharing_group": node.slot_sharing_group.name,
                "min_resources": _resources(node.settings.min_resources),
                "preferred_resources": _resources(node.settings.preferred_resources),
                "co_location_group": node.settings.co_location_group,
                "chaining_strategy": node.chaining_strategy,
                "output_only_after_eos": node.operator.outputs_only_after_end(),
                "hash": hashes[node.id],
                "in_edges": [edge.id for edge in graph.in_edges[node.id]],
                "out_edges": [edge.id for edge in graph.out_edges[node.id]],
            }
            for node in graph.nodes
        ],
        "edges": [
            {
                "source": edge.source_id,
                "target": edge.target_id,
                "type_number": edge.type_number,
                "partitioner": edge.partitioner.name,
                "exchange_mode": edge.exchange_mode,
                "output_tag": edge.output_tag,
                "chainable": breaks[edge.id] is None,
                "edge_id": edge.id,
            }
            for edge in graph.edges
        ],
        "plan_json": streaming_plan(graph),
    }


def job_graph_json(graph: JobGraph) -> dict[str, Json]:
    """Return vertices in topological order, edges by target and input, and logical regions."""
    index = {vertex.id: number for number, vertex in enumerate(graph.vertices)}
    slots = slot_sharing_groups(graph)
    groups = _dense([slots[vertex.id] for vertex in graph.vertices])
    locations = _dense([vertex.head.settings.co_location_group for vertex in graph.vertices])
    name_of = {
        data_set.id: f"{index[data_set.producer_id]}#{data_set.id.rpartition('-')[2]}" for data_set in graph.data_sets
    }
    edges = {
        data_set.id: [edge for edge in graph.edges if edge.data_set_id == data_set.id] for data_set in graph.data_sets
    }
    return {
        "job_type": graph.job_type,
        "dynamic": graph.is_dynamic,
        "vertex_creation_order": [index[id] for id in graph.creation_order],
        "vertices": [
            {
                "index": number,
                "id": vertex.id,
                "name": vertex.name,
                "parallelism": vertex.parallelism or -1,
                "max_parallelism": vertex.max_parallelism or -1,
                "parallelism_configured": vertex.parallelism_configured,
                "slot_sharing_group": groups[number],
                "min_resources": _resources(vertex.min_resources),
                "preferred_resources": _resources(vertex.preferred_resources),
                "co_location_group": locations[number],
                "operator_ids": [
                    {"generated": id, "user_defined": user_hash}
                    for id, user_hash in zip(vertex.operator_ids, vertex.user_hashes, strict=True)
                ],
                "produced_datasets": [
                    {
                        "dataset": name_of[data_set.id],
                        "type": data_set.result_type,
                        "distribution": edges[data_set.id][0].distribution_pattern,
                        "broadcast": edges[data_set.id][0].stream_edge.partitioner.is_broadcast,
                        "consumers": [index[edge.target_id] for edge in edges[data_set.id]],
                    }
                    for data_set in graph.produced[vertex.id]
                ],
            }
            for number, vertex in enumerate(graph.vertices)
        ],
        "edges": [
            {
                "source": index[edge.source_id],
                "target": index[edge.target_id],
                "input_num": number,
                "source_id": edge.source_id,
                "target_id": edge.target_id,
                "distribution": edge.distribution_pattern,
                "result_type": edge.result_type,
                "ship_strategy": edge.ship_strategy,
                "dataset": name_of[edge.data_set_id],
                "forward": edge.stream_edge.partitioner.is_forward,
                "broadcast": edge.stream_edge.partitioner.is_broadcast,
            }
            for vertex in graph.vertices
            for number, edge in enumerate(graph.in_edges[vertex.id])
        ],
        "logical_pipelined_regions": [
            [index[id] for id in region.vertex_ids] for region in logical_pipelined_regions(graph)
        ],
        "resource_profiles": {group.name: to_wire(group.settings()) for group in graph.resource_profiles},
        "plan_json": job_plan(graph),
    }


def slot_sharing_groups(graph: JobGraph) -> Mapping[JobVertexId, str]:
    """Return a name for the group of each vertex after chaining; vertices share Flink's slots if theirs are equal.

    A named group is one group. The default group is one group in a streaming job. In a batch job it is one group for
    each logical pipelined region, since regions run one after the other and need not fit side by side.
    """
    region_of: dict[JobVertexId, int] = {}
    if graph.job_type is JobType.BATCH:
        regions = logical_pipelined_regions(graph)
        region_of = {id: number for number, region in enumerate(regions) for id in region.vertex_ids}
    return {
        vertex.id: f"{group.name}/{region_of.get(vertex.id, 0)}" if group.is_default else group.name
        for vertex in graph.vertices
        for group in (vertex.slot_sharing_group,)
    }


def _resources(spec: ResourceSpec | None) -> Json:
    """Return the needed amounts by name, None for Flink's UNKNOWN."""
    return None if spec is None else to_wire(spec)


def _dense(names: list[str | None]) -> list[int | None]:
    """Number names by first appearance."""
    known = {name: number for number, name in enumerate(dict.fromkeys(name for name in names if name is not None))}
    return [None if name is None else known[name] for name in names]


# The execution graph as a JSON document: subtasks, and what each consumes and produces.
#
# Names are those of `graph_json`. Every subtask is listed, which suits small graphs.


class ExecutionGraphJson:
    """One execution graph, with the names of its parts."""

    def __init__(self, graph: ExecutionGraph) -> None:
        self._graph = graph
        self._index = {vertex.id: number for number, vertex in enumerate(graph.vertices)}
        self._results = {result.id: result for result in graph.results}

    def vertices(self) -> list[Json]:
        """Return the job vertices in topological order, each with its subtasks before they run."""
        return [self._vertex(vertex) for vertex in self._graph.vertices]

    def task(self, id: ExecutionVertexId) -> str:
        """Return the name of a subtask: `3:0`."""
        return f"{self._index[id.vertex_id]}:{id.subtask}"

    def data_set(self, id: IntermediateDataSetId) -> str:
        """Return the name of a data set: `3#0`."""
        return f"{self._index[self._results[id].producer_id]}#{id.rpartition('-')[2]}"

    def _vertex(self, vertex: ExecutionJobVertex) -> Json:
        return {
            "index": self._index[vertex.id],
            "id": vertex.id,
            "parallelism": vertex.parallelism,
            "max_parallelism": vertex.max_parallelism,
            **self._input_splits(vertex),
            "subtasks": [
                {
                    "name": vertex.task_name(subtask),
                    "state": "CREATED",
                    "attempt": 0,
                    "consumed": self._consumed(vertex, subtask),
                    "produced": [self._produced(self._results[id], subtask) for id in vertex.produced],
                }
                for subtask in range(vertex.parallelism)
            ],
        }

    def _input_splits(self, vertex: ExecutionJobVertex) -> dict[str, Json]:
        """Return which subtask reads which split of which source; empty if no source has splits."""
        if not vertex.input_splits:
            return {}
        sources: list[Json] = [
            {
                "operator": assigner.operator_id,
                "subtasks": [
                    [split.description for split in assigner.of_subtask(subtask)]
                    for subtask in range(vertex.parallelism)
                ],
            }
            for assigner in vertex.input_splits
        ]
        return {"input_splits": sources}

    def _consumed(self, vertex: ExecutionJobVertex, subtask: int) -> list[Json]:
        return [
            {
                "dataset": self.data_set(edge.job_edge.data_set_id),
                "type": edge.job_edge.result_type,
                "num_consumers": len(edge.group_of(subtask).consumers),
                "partitions": list(edge.group_of(subtask).partitions),
                "subpartition_range": [edge.subpartition(subtask)] * 2,
            }
            for edge in self._graph.edges
            if edge.job_edge.target_id == vertex.id
        ]

    def _produced(self, result: IntermediateResult, partition: int) -> Json:
        groups = [
            (edge.job_edge.target_id, group.consumers)
            for edge in self._graph.edges
            if edge.job_edge.data_set_id == result.id
            for group in edge.groups
            if partition in group.partitions
        ]
        return {
            "dataset": self.data_set(result.id),
            "partition": partition,
            "subpartitions": len(groups[0][1]),
            "consumer_groups": [
                [self.task(ExecutionVertexId(target, consumer)) for consumer in consumers]
                for target, consumers in groups
            ],
        }


# Flink's two plan documents: that of its plan visualizer, and that of its REST API for a job.

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
