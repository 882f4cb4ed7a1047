"""The execution graph as a JSON document: subtasks, and what each consumes and produces.

Names are those of `graph_json`. Every subtask is listed, which suits small graphs.
"""

from __future__ import annotations

from graph_compiler.deployment.documents.wire import Json
from graph_compiler.graphs.execution_graph import (
    ExecutionGraph,
    ExecutionJobVertex,
    ExecutionVertexId,
    IntermediateResult,
)
from graph_compiler.identifiers import IntermediateDataSetId


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
                    "produced": [
                        self._produced(self._results[id], subtask) for id in vertex.produced
                    ],
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
