"""JobGraph: chains as vertices, data sets between them, and the edges that consume these. Values only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from graph_compiler.declaration.partitioners import DistributionPattern
from graph_compiler.declaration.resources.resource_spec import ResourceSpec
from graph_compiler.declaration.resources.slot_sharing_group import SlotSharingGroup
from graph_compiler.graphs.coordination import InitializeOnMaster, OperatorCoordinatorProvider, SplitSource
from graph_compiler.graphs.stream_graph import JobType, Staging, StreamEdge, StreamNode
from graph_compiler.identifiers import IntermediateDataSetId, JobEdgeId, JobVertexId, OperatorId


class ResultPartitionType(StrEnum):
    """Where a result is stored. In Flink, buffers or local files; here BLOCKING is a staged directory."""

    PIPELINED_BOUNDED = "PIPELINED_BOUNDED"
    BLOCKING = "BLOCKING"
    HYBRID_FULL = "HYBRID_FULL"
    HYBRID_SELECTIVE = "HYBRID_SELECTIVE"

    @property
    def is_blocking(self) -> bool:
        """Whether consumers start after the producer has finished."""
        return self is ResultPartitionType.BLOCKING

    @property
    def is_hybrid(self) -> bool:
        """Whether consumers may start before the producer has finished, or after."""
        return self in (ResultPartitionType.HYBRID_FULL, ResultPartitionType.HYBRID_SELECTIVE)

    @property
    def must_be_pipelined_consumed(self) -> bool:
        """Whether producer and consumer must run together."""
        return self is ResultPartitionType.PIPELINED_BOUNDED

    @property
    def is_reconsumable(self) -> bool:
        """Whether it can be read more than once."""
        return self in (ResultPartitionType.BLOCKING, ResultPartitionType.HYBRID_FULL)

    @property
    def is_released_by_scheduler(self) -> bool:
        """Whether it is kept until all its consumers have finished."""
        return self is not ResultPartitionType.PIPELINED_BOUNDED


@dataclass(frozen=True, slots=True, kw_only=True)
class JobVertex:
    """One chain of operators. `node_ids` starts with the `head`, `operator_ids` ends with it (Flink's order).

    `user_hashes` are the operators' uid hashes, in the order of `operator_ids`. Sources that the chain absorbs are in
    `node_ids`, before the head, and have no operator id. If `parallelism` is None, it is decided at run time.
    Resources are the sum over the operators, None if one is unknown; absorbed sources do not count.
    """

    id: JobVertexId
    head: StreamNode
    name: str
    description: str
    node_ids: tuple[int, ...]
    operator_ids: tuple[OperatorId, ...]
    user_hashes: tuple[str | None, ...]
    parallelism: int | None
    parallelism_configured: bool
    max_parallelism: int | None
    min_resources: ResourceSpec | None
    preferred_resources: ResourceSpec | None
    initialize_on_master: tuple[InitializeOnMaster, ...]
    coordinators: tuple[OperatorCoordinatorProvider, ...]
    input_split_sources: tuple[SplitSource, ...]

    @property
    def slot_sharing_group(self) -> SlotSharingGroup:
        """The group of its head, and so of all its operators."""
        return self.head.slot_sharing_group

    @property
    def result_id(self) -> OperatorId:
        """The id from which its data sets are named: the uid hash of its head, if it has one."""
        user_hash = self.user_hashes[-1]
        return self.operator_ids[-1] if user_hash is None else OperatorId(user_hash)


@dataclass(frozen=True, slots=True, kw_only=True)
class IntermediateDataSet:
    """An output of the operator `node_id` of a vertex: its main output, or the side output `output_tag`.

    `id` is `<result id of the vertex>-<n>`. In Flink it is random, and an operator's state is found by its uid hash;
    here a staged result is found by it.
    """

    id: IntermediateDataSetId
    producer_id: JobVertexId
    node_id: int
    output_tag: str | None
    result_type: ResultPartitionType


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEdge:
    """The consumer of a data set, and how it reads; `stream_edge` is the edge it comes from.

    `staging` is the reason why its rows are committed to durable storage on the way, None if they stay in memory. It is
    not set in Flink's own graph: `compiler/regions/cuts.py` decides. `reads_source_again`: its producer is a source of
    another region of the same task, and its consumer reads that source itself.
    """

    data_set_id: IntermediateDataSetId
    source_id: JobVertexId
    target_id: JobVertexId
    stream_edge: StreamEdge
    result_type: ResultPartitionType
    staging: Staging | None = None
    reads_source_again: bool = False

    @property
    def id(self) -> JobEdgeId:
        """The id of its stream edge, which no other job edge has."""
        return JobEdgeId(self.stream_edge.id)

    @property
    def parts_regions(self) -> bool:
        """Whether producer and consumer must be in different regions."""
        return self.staging is not None and self.staging.reason.parts_regions

    @property
    def distribution_pattern(self) -> DistributionPattern:
        """Which partitions a consumer subtask reads."""
        return self.stream_edge.partitioner.distribution_pattern

    @property
    def ship_strategy(self) -> str:
        """Flink's name of the partitioner."""
        return self.stream_edge.partitioner.name


@dataclass(frozen=True)
class JobGraph:
    """Vertices in topological order (Flink's `getVerticesSortedTopologicallyFromSources`), edges by target input.

    `creation_order` is Flink's `getVertices` order: consumers tend to come first.
    """

    job_name: str
    job_type: JobType
    is_dynamic: bool
    vertices: tuple[JobVertex, ...]
    data_sets: tuple[IntermediateDataSet, ...]
    edges: tuple[JobEdge, ...]
    creation_order: tuple[JobVertexId, ...]

    @cached_property
    def resource_profiles(self) -> Sequence[SlotSharingGroup]:
        """The groups that are more than a name, in the order in which operators were declared."""
        ordered = sorted(self.vertices, key=lambda vertex: min(vertex.node_ids))
        groups = dict.fromkeys(vertex.slot_sharing_group for vertex in ordered)
        return tuple(group for group in groups if not group.is_only_a_name)

    def is_one_group(self, ids: Iterable[JobVertexId]) -> bool:
        """Whether vertices have one slot sharing group, and may share an application."""
        return len({self.vertex[id].slot_sharing_group for id in ids}) == 1

    @cached_property
    def vertex(self) -> Mapping[JobVertexId, JobVertex]:
        """Vertices by id."""
        return {vertex.id: vertex for vertex in self.vertices}

    @cached_property
    def data_set(self) -> Mapping[IntermediateDataSetId, IntermediateDataSet]:
        """Data sets by id."""
        return {data_set.id: data_set for data_set in self.data_sets}

    @cached_property
    def produced(self) -> Mapping[JobVertexId, Sequence[IntermediateDataSet]]:
        """Data sets by producer."""
        found: dict[JobVertexId, list[IntermediateDataSet]] = {vertex.id: [] for vertex in self.vertices}
        for data_set in self.data_sets:
            found[data_set.producer_id].append(data_set)
        return found

    @cached_property
    def edge(self) -> Mapping[JobEdgeId, JobEdge]:
        """Edges by id."""
        return {edge.id: edge for edge in self.edges}

    @cached_property
    def staged_edges(self) -> Sequence[JobEdge]:
        """Edges whose rows are committed to durable storage between producer and consumer."""
        return tuple(edge for edge in self.edges if edge.staging is not None)

    @cached_property
    def vertex_of_node(self) -> Mapping[int, JobVertex]:
        """The vertex whose chain contains a stream node."""
        return {node_id: vertex for vertex in self.vertices for node_id in vertex.node_ids}

    @cached_property
    def in_edges(self) -> Mapping[JobVertexId, Sequence[JobEdge]]:
        """Edges by target, in input order."""
        found: dict[JobVertexId, list[JobEdge]] = {vertex.id: [] for vertex in self.vertices}
        for edge in self.edges:
            found[edge.target_id].append(edge)
        return found
