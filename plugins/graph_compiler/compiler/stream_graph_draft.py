"""A stream graph while it is being written: nodes, virtual nodes, and the edges resolved through these.

    producer ◀─ key_by (virtual: HASH) ◀─ consumer     becomes     producer ─HASH─▶ consumer

Walking up from the consumer, the side output tag and the partitioner nearest to it win, but each partition on the
way overwrites the exchange mode, so the one nearest to the producer decides it (Flink's `addEdgeInternal`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from graph_compiler.declaration.options import PipelineOptions
from graph_compiler.declaration.partitioners import (
    ExchangeMode,
    ForwardPartitioner,
    Partitioner,
    RebalancePartitioner,
)
from graph_compiler.declaration.transformations import (
    PartitionTransformation,
    PhysicalTransformation,
)
from graph_compiler.errors import Problem
from graph_compiler.graphs.stream_graph import StreamEdge, StreamNode

DEFAULT_SLOT_SHARING_GROUP = "default"


@dataclass(frozen=True, slots=True)
class _VirtualPartition:
    origin_id: int
    declared: PartitionTransformation


@dataclass(frozen=True, slots=True)
class _VirtualSideOutput:
    origin_id: int
    tag: str


@dataclass(frozen=True, slots=True)
class _Route:
    """A physical producer, and what the virtual nodes between it and the consumer say."""

    producer_id: int
    partitioner: Partitioner | None
    exchange_mode: ExchangeMode
    output_tag: str | None
    staging_reason: str | None


@dataclass(slots=True)
class StreamGraphDraft:
    """Mutable, local to one translation. `translated` maps a transformation id to the ids that stand for it."""

    options: PipelineOptions
    last_id: int
    nodes: dict[int, StreamNode] = field(default_factory=dict)
    edges: list[StreamEdge] = field(default_factory=list)
    translated: dict[int, tuple[int, ...]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    _virtual: dict[int, _VirtualPartition | _VirtualSideOutput] = field(default_factory=dict)
    _parallel_edges: dict[tuple[int, int], int] = field(default_factory=dict)

    def add_node(
        self, transformation: PhysicalTransformation, *, name: str, keys: tuple[str, ...] = ()
    ) -> tuple[int]:
        """Add the stream node of a transformation; its inputs must have been translated."""
        self.nodes[transformation.id] = StreamNode(
            id=transformation.id,
            name=name,
            declared_name=transformation.name,
            operator=transformation.operator,
            parallelism=transformation.parallelism or self.options.parallelism,
            parallelism_configured=transformation.parallelism is not None,
            max_parallelism=transformation.max_parallelism or self.options.max_parallelism,
            slot_sharing_group=self._slot_sharing_group(transformation),
            chaining_strategy=transformation.chaining_strategy,
            uid=transformation.uid,
            task_id=transformation.task_id,
            keys=keys,
            declared_at=transformation.declared_at,
        )
        return (transformation.id,)

    def add_virtual_partition(self, origin_id: int, declared: PartitionTransformation) -> int:
        """Add a virtual node for one input of a partition."""
        return self._add_virtual(_VirtualPartition(origin_id, declared))

    def add_virtual_side_output(self, origin_id: int, tag: str) -> int:
        """Add a virtual node for one input of a side output."""
        return self._add_virtual(_VirtualSideOutput(origin_id, tag))

    def add_input(
        self, transformation: PhysicalTransformation, input_id: int, *, type_number: int
    ) -> None:
        """Connect everything that stands for the input to the transformation's node."""
        for id in self.translated[input_id]:
            self._add_edge(self._route(id), self.nodes[transformation.id], type_number)

    def _add_virtual(self, virtual: _VirtualPartition | _VirtualSideOutput) -> int:
        self.last_id += 1
        self._virtual[self.last_id] = virtual
        return self.last_id

    def _route(self, id: int) -> _Route:
        partitioner: Partitioner | None = None
        exchange_mode = ExchangeMode.UNDEFINED
        output_tag: str | None = None
        staging_reason: str | None = None
        while (virtual := self._virtual.get(id)) is not None:
            if isinstance(virtual, _VirtualPartition):
                partitioner = partitioner or virtual.declared.partitioner
                exchange_mode = virtual.declared.exchange_mode
                staging_reason = staging_reason or virtual.declared.staging_reason
            else:
                output_tag = output_tag or virtual.tag
            id = virtual.origin_id
        return _Route(id, partitioner, exchange_mode, output_tag, staging_reason)

    def _add_edge(self, route: _Route, target: StreamNode, type_number: int) -> None:
        source = self.nodes[route.producer_id]
        equal = source.parallelism == target.parallelism
        partitioner = route.partitioner or (
            ForwardPartitioner() if equal else RebalancePartitioner()
        )
        if partitioner.is_forward and not equal:
            self.problems.append(
                Problem(
                    operator=target.declared_name,
                    message=f"forward partitioning does not allow change of parallelism: '{source.declared_name}' has "
                    f"{source.parallelism}, '{target.declared_name}' has {target.parallelism}",
                    hint="use rebalance() or rescale() between them, or set the same parallelism",
                    declared_at=target.declared_at,
                )
            )
        pair = (source.id, target.id)
        number = self._parallel_edges.get(pair, 0)
        self._parallel_edges[pair] = number + 1
        edge_id = f"{source.name}-{source.id}_{target.name}-{target.id}_{type_number}_{partitioner.name}_{number}"
        self.edges.append(
            StreamEdge(
                id=edge_id,
                source_id=source.id,
                target_id=target.id,
                type_number=type_number,
                partitioner=partitioner,
                exchange_mode=route.exchange_mode,
                output_tag=route.output_tag,
                staging_reason=route.staging_reason,
            )
        )

    def _slot_sharing_group(self, transformation: PhysicalTransformation) -> str:
        """Take the declared group, else the one all inputs share, else the default (Flink's inheritance)."""
        if transformation.slot_sharing_group is not None:
            return transformation.slot_sharing_group
        producers = [
            self._route(id).producer_id
            for input_id in transformation.inputs
            for id in self.translated[input_id]
        ]
        groups = {self.nodes[id].slot_sharing_group for id in producers}
        return groups.pop() if len(groups) == 1 else DEFAULT_SLOT_SHARING_GROUP
