"""A stream graph while it is built: nodes, virtual nodes, and the edges that are resolved through virtual nodes.

    producer ◀─ key_by (virtual: HASH) ◀─ consumer     becomes     producer ─HASH─▶ consumer

The walk goes up from the consumer: the side output tag and the partitioner nearest to the consumer count, but each
partition on the way overwrites the exchange mode, so the one nearest to the producer decides it (Flink's
`addEdgeInternal`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from graph_compiler.declaration.operators import IterationHead, IterationTail, OperatorSettings, Source
from graph_compiler.declaration.partitioners import (
    ExchangeMode,
    ForwardForConsecutiveHashPartitioner,
    ForwardForUnspecifiedPartitioner,
    ForwardPartitioner,
    Partitioner,
    RebalancePartitioner,
)
from graph_compiler.declaration.resources.slot_sharing_group import DEFAULT, SlotSharingGroup
from graph_compiler.declaration.transformations import (
    FeedbackTransformation,
    OneInputTransformation,
    PartitionTransformation,
    PhysicalTransformation,
)
from graph_compiler.errors import Problem
from graph_compiler.graphs.stream_graph import (
    StagingReason,
    StreamEdge,
    StreamNode,
    VirtualPartition,
    VirtualSideOutput,
)
from graph_compiler.options.model import PipelineOptions


@dataclass(frozen=True, slots=True)
class _Route:
    """A physical producer, and the settings of the virtual nodes between it and the consumer."""

    producer_id: int
    partitioner: Partitioner | None
    exchange_mode: ExchangeMode
    output_tag: str | None
    staging_text: str | None
    same_task: bool
    pipelining_text: str | None


@dataclass(slots=True)
class StreamGraphDraft:
    """Mutable, local to one translation. `translated` maps a transformation id to the ids that represent it.

    `groups` are the slot sharing groups with settings, by name.
    """

    options: PipelineOptions
    is_dynamic: bool
    last_id: int
    groups: Mapping[str, SlotSharingGroup]
    nodes: dict[int, StreamNode] = field(default_factory=dict)
    edges: list[StreamEdge] = field(default_factory=list)
    virtual: dict[int, VirtualPartition | VirtualSideOutput] = field(default_factory=dict)
    source_ids: list[int] = field(default_factory=list)
    sink_ids: list[int] = field(default_factory=list)
    translated: dict[int, tuple[int, ...]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    _last_iteration_id: int = 0
    _parallel_edges: dict[tuple[int, int], int] = field(default_factory=dict)

    def new_id(self) -> int:
        """Return a new id, greater than those of the declaration."""
        self.last_id += 1
        return self.last_id

    def add_node(
        self, transformation: PhysicalTransformation, *, name: str, id: int | None = None, keys: tuple[str, ...] = ()
    ) -> tuple[int]:
        """Add the stream node of a transformation; its inputs must have been translated."""
        node_id = transformation.id if id is None else id
        operator = transformation.operator
        settings = transformation.settings
        if isinstance(operator, Source) and not operator.is_parallel:
            settings = replace(settings, parallelism=1)
        self.nodes[node_id] = StreamNode(
            id=node_id,
            name=name,
            description=settings.description or name,
            declared_name=transformation.name,
            operator=operator,
            settings=settings,
            parallelism=settings.parallelism or self._default_parallelism(transformation),
            max_parallelism=settings.max_parallelism or self.options.max_parallelism,
            slot_sharing_group=self._group(settings.slot_sharing_group, transformation.inputs),
            chaining_strategy=transformation.chaining_strategy,
            keys=keys,
            declared_at=transformation.declared_at,
        )
        return (node_id,)

    def add_iteration(self, transformation: FeedbackTransformation) -> tuple[int, int]:
        """Add head and tail of an iteration, which have separate, negative ids."""
        head_id, tail_id = self._last_iteration_id - 1, self._last_iteration_id - 2
        self._last_iteration_id = tail_id
        self._add_iteration_end(head_id, IterationHead(), transformation, max_parallelism=None)
        # In Flink, the tail's maximum is its parallelism, and the head has none.
        self._add_iteration_end(tail_id, IterationTail(), transformation, max_parallelism=self.options.parallelism)
        self.source_ids.append(head_id)
        self.sink_ids.append(tail_id)
        return head_id, tail_id

    def close_iteration(self, transformation: FeedbackTransformation, head_id: int, tail_id: int) -> None:
        """Connect the feedback to the tail; head and tail take its slot sharing group."""
        group = self._group(None, transformation.feedback)
        for id in (head_id, tail_id):
            self.nodes[id] = replace(self.nodes[id], slot_sharing_group=group)
        for feedback_id in transformation.feedback:
            for id in self.translated[feedback_id]:
                self._add_edge(self._route(id), self.nodes[tail_id], type_number=0)

    def add_virtual_partition(self, origin_id: int, declared: PartitionTransformation) -> int:
        """Add a virtual node for one input of a partition."""
        id = self.new_id()
        self.virtual[id] = VirtualPartition(id=id, origin_id=origin_id, declared=declared)
        return id

    def add_virtual_side_output(self, origin_id: int, tag: str) -> int:
        """Add a virtual node for one input of a side output."""
        id = self.new_id()
        self.virtual[id] = VirtualSideOutput(id=id, origin_id=origin_id, tag=tag)
        return id

    def add_input(self, node_id: int, input_id: int, *, type_number: int) -> None:
        """Connect all nodes that represent a transformation to a node."""
        for id in self.translated[input_id]:
            self._add_edge(self._route(id), self.nodes[node_id], type_number)

    def _add_iteration_end(
        self,
        id: int,
        operator: IterationHead | IterationTail,
        transformation: FeedbackTransformation,
        *,
        max_parallelism: int | None,
    ) -> None:
        name = f"{operator.default_name}-{transformation.id}"
        self.nodes[id] = StreamNode(
            id=id,
            name=name,
            description=name,
            declared_name=name,
            operator=operator,
            settings=OperatorSettings(
                parallelism=self.options.parallelism, co_location_group=f"IterationCoLocationGroup-{transformation.id}"
            ),
            parallelism=self.options.parallelism,
            max_parallelism=max_parallelism,
            slot_sharing_group=self._group(None, ()),
            chaining_strategy=None,
            keys=(),
            declared_at=transformation.declared_at,
        )

    def _route(self, id: int) -> _Route:
        partitioner: Partitioner | None = None
        exchange_mode = ExchangeMode.UNDEFINED
        output_tag: str | None = None
        staging_text: str | None = None
        same_task = True
        pipelining_text: str | None = None
        while (virtual := self.virtual.get(id)) is not None:
            if isinstance(virtual, VirtualPartition):
                declared = virtual.declared
                partitioner = partitioner or declared.partitioner
                exchange_mode = declared.exchange_mode
                if declared.staging_text and (same_task and not declared.same_task):
                    staging_text, same_task = declared.staging_text, False  # it asks for more
                staging_text = staging_text or declared.staging_text
                pipelining_text = pipelining_text or declared.pipelining_text
            else:
                output_tag = output_tag or virtual.tag
            id = virtual.origin_id
        if pipelining_text and exchange_mode is ExchangeMode.UNDEFINED:
            exchange_mode = ExchangeMode.PIPELINED  # a separate call, not a side effect of the partition before it
        return _Route(id, partitioner, exchange_mode, output_tag, staging_text, same_task, pipelining_text)

    def _add_edge(self, route: _Route, target: StreamNode, type_number: int) -> None:
        source = self.nodes[route.producer_id]
        partitioner = self._partitioner(route.partitioner, source, target)
        if route.staging_text and route.pipelining_text:
            self.problems.append(
                Problem(
                    operator=target.declared_name,
                    message=f"what it reads of '{source.declared_name}' is to be staged (\"{route.staging_text}\") "
                    f'and pipelined ("{route.pipelining_text}")',
                    hint="keep one of stage(…) and pipelined(…)",
                    declared_at=target.declared_at,
                )
            )
        pair = (source.id, target.id)
        number = self._parallel_edges.get(pair, 0)
        self._parallel_edges[pair] = number + 1
        ends = f"{source.name}-{source.id}_{target.name}-{target.id}"
        self.edges.append(
            StreamEdge(
                id=f"{ends}_{type_number}_{partitioner.name}_{number}",
                source_id=source.id,
                target_id=target.id,
                type_number=type_number,
                partitioner=partitioner,
                exchange_mode=route.exchange_mode,
                output_tag=route.output_tag,
                staging_text=route.staging_text,
                pipelining_text=route.pipelining_text,
                staging_reason=_staging_reason(route),
            )
        )

    def _partitioner(self, declared: Partitioner | None, source: StreamNode, target: StreamNode) -> Partitioner:
        """Choose a partitioner if none is declared, and check forward edges (Flink's `createActualEdge`)."""
        if source.parallelism == target.parallelism:
            unspecified = ForwardForUnspecifiedPartitioner() if self.is_dynamic else ForwardPartitioner()
            return declared or unspecified
        if isinstance(declared, ForwardForConsecutiveHashPartitioner):
            return declared.hash_partitioner
        if declared is not None and declared.is_forward:
            self.problems.append(
                Problem(
                    operator=target.declared_name,
                    message=f"forward partitioning does not allow change of parallelism: '{source.declared_name}' has "
                    f"{source.parallelism}, '{target.declared_name}' has {target.parallelism}",
                    hint="use rebalance() or rescale() between them, or set the same parallelism",
                    declared_at=target.declared_at,
                )
            )
        return declared or RebalancePartitioner()

    def _default_parallelism(self, transformation: PhysicalTransformation) -> int:
        if isinstance(transformation, OneInputTransformation) and transformation.inherits_parallelism:
            input_ids = self.translated[transformation.inputs[0]]
            return self.nodes[self._route(input_ids[0]).producer_id].parallelism
        return self.options.parallelism

    def _group(self, declared: SlotSharingGroup | None, input_ids: tuple[int, ...]) -> SlotSharingGroup:
        """Return the declared group, or that which all inputs share, or the default (Flink's inheritance)."""
        group = declared
        if group is None or not group.name:
            producers = [self._route(id).producer_id for input_id in input_ids for id in self.translated[input_id]]
            shared = {self.nodes[id].slot_sharing_group for id in producers}
            group = shared.pop() if len(shared) == 1 else SlotSharingGroup(DEFAULT)
        return self.groups.get(group.name, group)


def _staging_reason(route: _Route) -> StagingReason | None:
    if route.staging_text is None:
        return None
    return StagingReason.DECLARED_IN_TASK if route.same_task else StagingReason.DECLARED
