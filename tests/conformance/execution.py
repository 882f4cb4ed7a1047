"""The execution graph's part of an answer: subtasks, regions, failover, scheduling; it only maps names."""

from __future__ import annotations

from typing import Any

from graph_compiler.compiler.execution_graph.scheduling_topology_builder import build_scheduling_topology
from graph_compiler.deployment.scheduling.failover import restart_set
from graph_compiler.deployment.scheduling.scheduling import Progress, finish_vertex, releasable_groups, start_scheduling
from graph_compiler.explain.documents.graph_json import ExecutionGraphJson
from graph_compiler.graphs.execution_graph import ExecutionGraph, ExecutionVertexId, PartitionId
from graph_compiler.graphs.job_graph import JobGraph
from graph_compiler.graphs.scheduling_topology import ConsumedPartitionGroup

Json = dict[str, Any]
LOST_PARTITIONS_ASKED = 61
"""The corpus stops asking there."""


class ExecutionAnswer:
    """One execution graph with the names of the corpus."""

    def __init__(self, job_graph: JobGraph, graph: ExecutionGraph) -> None:
        self.graph = graph
        self.is_dynamic = job_graph.is_dynamic
        self.topology = build_scheduling_topology(job_graph, graph)
        self.names = ExecutionGraphJson(graph)

    def json(self) -> Json:
        answer: Json = {
            "vertices": self.names.vertices(),
            "pipelined_regions": [[self.task(id) for id in region] for region in self.topology.regions],
            "failover": self.failover(),
        }
        if not self.is_dynamic:  # the corpus has no order for these
            answer["scheduling"] = self.scheduling()
        return answer

    def failover(self) -> Json:
        tasks = [id for vertex in self.graph.vertices for id in vertex.execution_vertices()]
        reads = [
            (id, PartitionId(edge.job_edge.data_set_id, edge.group_of(id.subtask).partitions[0]))
            for id in tasks
            for edge in self.graph.edges
            if edge.job_edge.target_id == id.vertex_id
        ]
        return {
            "all_partitions_available": {self.task(id): self.restarted(id, set()) for id in tasks},
            "no_partition_available": {self.task(id): self.restarted(id, None) for id in tasks},
            "consumer_reports_partition_lost": {
                f"{self.task(id)}<-{self.partition(partition)}": self.restarted(id, {partition})
                for id, partition in reads[:LOST_PARTITIONS_ASKED]
            },
        }

    def restarted(self, id: ExecutionVertexId, unavailable: set[PartitionId] | None) -> list[str]:
        return self.tasks(restart_set(self.topology, id, unavailable))

    def scheduling(self) -> list[Json]:
        """Let deployed tasks finish one by one, the first deployed first; events without effect are left out."""
        progress, regions = start_scheduling(self.topology)
        events: list[Json] = [{"event": "start", "deployed": self.deployed(regions)}]
        running = [id for region in regions for id in self.topology.regions[region]]
        for id in running:
            progress, regions = finish_vertex(self.topology, progress, id)
            running.extend(task for region in regions for task in self.topology.regions[region])
            released = sorted(self.group(group) for group in self.released(progress, id))
            if regions or released:
                deployed = self.deployed(regions)
                events.append({"event": f"finished {self.task(id)}", "deployed": deployed, "released_groups": released})
        return events

    def released(self, progress: Progress, id: ExecutionVertexId) -> list[ConsumedPartitionGroup]:
        return list(releasable_groups(self.topology, progress, id))

    def deployed(self, regions: tuple[int, ...]) -> list[list[str]]:
        return [self.tasks(self.topology.regions[region]) for region in regions]

    def tasks(self, ids: tuple[ExecutionVertexId, ...]) -> list[str]:
        return [self.task(id) for id in ids]

    def task(self, id: ExecutionVertexId) -> str:
        return self.names.task(id)

    def partition(self, partition: PartitionId) -> str:
        return f"{self.names.data_set(partition.data_set_id)}/{partition.partition}"

    def group(self, group: ConsumedPartitionGroup) -> str:
        partitions = ",".join(str(partition) for partition in group.group.partitions)
        return f"{self.names.data_set(group.data_set_id)}/{partitions}"
