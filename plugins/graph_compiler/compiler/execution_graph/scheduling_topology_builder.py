"""JobGraph and ExecutionGraph → execution pipelined regions: subtasks that must run together.

A logical region with an all-to-all edge is one region. Otherwise, partitions that must be consumed while they are
produced put their producers and consumers into one region; and regions that wait for each other become one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from graph_compiler.compiler.regions.deployment_regions import logical_pipelined_regions
from graph_compiler.declaration.partitioners import DistributionPattern
from graph_compiler.errors import InvalidPipelineError, Problem
from graph_compiler.graphs.execution_graph import ExecutionEdge, ExecutionGraph, ExecutionJobVertex, ExecutionVertexId
from graph_compiler.graphs.job_graph import JobGraph
from graph_compiler.graphs.scheduling_topology import ConsumedPartitionGroup, RegionIndex, SchedulingTopology
from graph_compiler.graphs.topology import connected_components, strongly_connected_components
from graph_compiler.identifiers import JobVertexId

_Region = list[ExecutionVertexId]


def build_scheduling_topology(job_graph: JobGraph, graph: ExecutionGraph) -> SchedulingTopology:
    """Return the regions and the partition groups between them; linear in subtasks and groups.

    Raises InvalidPipelineError if subtasks that must be in one place are in different regions.
    """
    order = {id: number for number, id in enumerate(_execution_vertices(graph))}
    found = [
        region
        for logical in logical_pipelined_regions(job_graph)
        for region in _regions(frozenset(logical.vertex_ids), graph)
    ]
    for region in found:
        region.sort(key=order.__getitem__)
    found.sort(key=lambda region: order[region[0]])
    region_of = {id: index for index, region in enumerate(found) for id in region}
    if problems := list(_co_location_problems(job_graph, graph, region_of)):
        raise InvalidPipelineError(job_graph.job_name, problems)
    return SchedulingTopology(
        regions=tuple(tuple(region) for region in found),
        region_of=region_of,
        groups=tuple(group for edge in graph.edges for group in _groups(edge, region_of)),
    )


def _co_location_problems(
    job_graph: JobGraph, graph: ExecutionGraph, region_of: Mapping[ExecutionVertexId, RegionIndex]
) -> Iterator[Problem]:
    """Find co-located vertices whose subtasks of the same number can restart without each other."""
    first: dict[tuple[str, int], ExecutionJobVertex] = {}
    for vertex in graph.vertices:
        group = job_graph.vertex[vertex.id].head.settings.co_location_group
        if group is None:
            continue
        others = [first.setdefault((group, id.subtask), vertex) for id in vertex.execution_vertices()]
        apart = [
            (number, other)
            for number, other in enumerate(others)
            if region_of[ExecutionVertexId(other.id, number)] != region_of[ExecutionVertexId(vertex.id, number)]
        ]
        if apart:
            number, other = apart[0]
            yield Problem(
                operator=vertex.name,
                message=f"its co-location group '{group}' is that of '{other.name}', but their subtasks "
                f"{number + 1} are in different pipelined regions",
                hint="connect them by a pipelined edge, or remove the co-location group of one",
            )


def _execution_vertices(graph: ExecutionGraph) -> Iterator[ExecutionVertexId]:
    return (id for vertex in graph.vertices for id in vertex.execution_vertices())


def _regions(vertex_ids: frozenset[JobVertexId], graph: ExecutionGraph) -> list[_Region]:
    """Split one logical region (Flink's `SchedulingPipelinedRegionComputeUtil`)."""
    inside = [e for e in graph.edges if e.job_edge.source_id in vertex_ids and e.job_edge.target_id in vertex_ids]
    tasks = [id for vertex in graph.vertices if vertex.id in vertex_ids for id in vertex.execution_vertices()]
    if any(edge.job_edge.distribution_pattern is DistributionPattern.ALL_TO_ALL for edge in inside):
        return [tasks]
    ties = [tie for edge in inside if edge.job_edge.result_type.must_be_pipelined_consumed for tie in _ties(edge)]
    components = connected_components(tasks, ties)
    waits = [tie for edge in inside if not edge.job_edge.result_type.must_be_pipelined_consumed for tie in _ties(edge)]
    return _merge_cycles(components, waits)


def _ties(edge: ExecutionEdge) -> Iterator[tuple[ExecutionVertexId, ExecutionVertexId]]:
    for group in edge.groups:
        for partition in group.partitions:
            for consumer in group.consumers:
                yield (
                    ExecutionVertexId(edge.job_edge.source_id, partition),
                    ExecutionVertexId(edge.job_edge.target_id, consumer),
                )


def _merge_cycles(components: list[_Region], waits: list[tuple[ExecutionVertexId, ExecutionVertexId]]) -> list[_Region]:
    if not waits:
        return components
    component_of = {id: number for number, component in enumerate(components) for id in component}
    successors: dict[int, set[int]] = {number: set() for number in range(len(components))}
    for producer, consumer in waits:
        if component_of[producer] != component_of[consumer]:
            successors[component_of[producer]].add(component_of[consumer])
    merged = strongly_connected_components({number: sorted(found) for number, found in successors.items()})
    return [[id for number in group for id in components[number]] for group in merged]


def _groups(edge: ExecutionEdge, region_of: dict[ExecutionVertexId, RegionIndex]) -> Iterator[ConsumedPartitionGroup]:
    source_id, target_id = edge.job_edge.source_id, edge.job_edge.target_id
    for group in edge.groups:
        yield ConsumedPartitionGroup(
            data_set_id=edge.job_edge.data_set_id,
            producer_id=source_id,
            result_type=edge.job_edge.result_type,
            group=group,
            producers=frozenset(region_of[ExecutionVertexId(source_id, number)] for number in group.partitions),
            consumers=frozenset(region_of[ExecutionVertexId(target_id, number)] for number in group.consumers),
        )
