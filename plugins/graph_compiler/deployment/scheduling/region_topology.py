"""RegionDescriptors → the scheduling topology of deployment regions, for failover and release (decision 20).

A deployment region is one execution vertex here, and one pipelined region: one Spark application, which runs and fails
as a whole. A staged result is one BLOCKING partition, and each of its consumers reads all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from graph_compiler.deployment.documents.descriptor import RegionDescriptor, StagedInput
from graph_compiler.deployment.documents.wire import values_within
from graph_compiler.graphs.execution_graph import ExecutionVertexId, PartitionGroup, PartitionId
from graph_compiler.graphs.job_graph import ResultPartitionType
from graph_compiler.graphs.scheduling_topology import ConsumedPartitionGroup, SchedulingTopology
from graph_compiler.identifiers import IntermediateDataSetId, JobVertexId, RegionId


def region_topology(regions: Iterable[RegionDescriptor]) -> SchedulingTopology:
    """Return the topology of what these regions read and stage.

    It includes regions that are only mentioned as producer or consumer. If descriptors of two versions of a pipeline
    differ about a result, the first one counts. Regions are in the order of their first occurrence.
    """
    described = tuple(regions)
    results: dict[IntermediateDataSetId, tuple[RegionId, tuple[RegionId, ...]]] = {}
    ids: dict[RegionId, None] = {}
    for region in described:
        ids[region.region_id] = None
        for id, producer, consumers in _results(region):
            results.setdefault(id, (producer, consumers))
            ids |= dict.fromkeys((producer, *consumers))
    index = {id: number for number, id in enumerate(ids)}
    return SchedulingTopology(
        regions=tuple((region_vertex(id),) for id in ids),
        region_of={region_vertex(id): number for id, number in index.items()},
        groups=tuple(
            ConsumedPartitionGroup(
                data_set_id=id,
                producer_id=region_vertex(producer).vertex_id,
                result_type=ResultPartitionType.BLOCKING,
                group=PartitionGroup(range(1), range(1)),
                producers=frozenset({index[producer]}),
                consumers=frozenset(index[consumer] for consumer in consumers),
            )
            for id, (producer, consumers) in results.items()
        ),
    )


def region_vertex(region_id: RegionId) -> ExecutionVertexId:
    """Return a deployment region as the only subtask of a vertex with the region's name."""
    return ExecutionVertexId(JobVertexId(region_id), 0)


def region_ids(vertices: Iterable[ExecutionVertexId]) -> tuple[RegionId, ...]:
    """Return the deployment regions of vertices of such a topology."""
    return tuple(RegionId(vertex.vertex_id) for vertex in vertices)


def staged_partition(result_id: IntermediateDataSetId) -> PartitionId:
    """Return a staged result as the only partition of its data set."""
    return PartitionId(result_id, 0)


def upstream(topology: SchedulingTopology, region_id: RegionId) -> frozenset[RegionId]:
    """Return the regions that a region reads from, directly or not."""
    found: set[int] = set()
    waiting = [topology.region_of[region_vertex(region_id)]]
    while waiting:
        for group in topology.consumed[waiting.pop()]:
            waiting += group.producers - found
            found |= group.producers
    return frozenset(region_ids(vertex for index in found for vertex in topology.regions[index]))


def _results(region: RegionDescriptor) -> Iterator[tuple[IntermediateDataSetId, RegionId, tuple[RegionId, ...]]]:
    """Return the staged results of a region's descriptor, each with producer and consumers."""
    for staged in values_within(region, StagedInput):
        yield staged.id, staged.producer, staged.consumers
    for result in region.results:
        yield result.id, region.region_id, result.consumers
