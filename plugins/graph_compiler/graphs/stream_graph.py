"""StreamGraph: operators and the edges between them, after virtual nodes are resolved.

Values only. Node ids are transformation ids; virtual nodes have separate ids after those.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from graph_compiler.declaration.operators import ChainingStrategy, Operator, OperatorSettings
from graph_compiler.declaration.partitioners import ExchangeMode, Partitioner
from graph_compiler.declaration.resources.slot_sharing_group import SlotSharingGroup
from graph_compiler.declaration.transformations import PartitionTransformation
from graph_compiler.errors import SourceLocation


class StagingReason(StrEnum):
    """Why an edge is staged; `staging_words` has the text for each."""

    DECLARED = "DECLARED"
    DECLARED_IN_TASK = "DECLARED_IN_TASK"
    EXPENSIVE = "EXPENSIVE"
    CONTRACT = "CONTRACT"
    ALL_EXCHANGES_BLOCKING = "ALL_EXCHANGES_BLOCKING"
    OUTPUT_ONLY_AFTER_END = "OUTPUT_ONLY_AFTER_END"
    SLOT_SHARING_GROUP_DIFFERS = "SLOT_SHARING_GROUP_DIFFERS"
    WOULD_CYCLE = "WOULD_CYCLE"
    PREVIOUS_VERSION = "PREVIOUS_VERSION"

    @property
    def parts_regions(self) -> bool:
        """Whether producer and consumer must be in different regions: a failure of one does not repeat the other.

        Rows that are staged for any other reason may be read back by the region that staged them.
        """
        return self in (
            StagingReason.DECLARED,
            StagingReason.DECLARED_IN_TASK,
            StagingReason.EXPENSIVE,
            StagingReason.PREVIOUS_VERSION,
        )

    @property
    def parts_tasks(self) -> bool:
        """Whether producer and consumer must be in different tasks."""
        return self in (
            StagingReason.DECLARED,
            StagingReason.ALL_EXCHANGES_BLOCKING,
            StagingReason.SLOT_SHARING_GROUP_DIFFERS,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Staging:
    """Why an edge is staged; `explanation` is for people: `because you asked: "read by several reports"`."""

    reason: StagingReason
    explanation: str


class JobType(StrEnum):
    """Whether the job ends by itself."""

    BATCH = "BATCH"
    STREAMING = "STREAMING"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamNode:
    """One operator. `name` is Flink's display name, `declared_name` the user's.

    `settings` are those of the declaration; the other fields have the derived values if one is not set. Resources
    None are Flink's UNKNOWN.
    """

    id: int
    name: str
    description: str
    declared_name: str
    operator: Operator
    settings: OperatorSettings
    parallelism: int
    max_parallelism: int | None
    slot_sharing_group: SlotSharingGroup
    chaining_strategy: ChainingStrategy | None
    keys: tuple[str, ...]
    declared_at: SourceLocation | None

    @property
    def parallelism_configured(self) -> bool:
        """Whether the declaration sets the parallelism."""
        return self.settings.parallelism is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamEdge:
    """A connection of two operators. `type_number` is 0 for a single input, otherwise the input's number from 1.

    `id` is Flink's edge id; `staging_text` and `pipelining_text` are the user's texts if `.stage(reason)` or
    `.pipelined(reason)` was on the way. `staging_reason`: why it is staged in every shuffle mode except
    ALL_EXCHANGES_PIPELINED.
    """

    id: str
    source_id: int
    target_id: int
    type_number: int
    partitioner: Partitioner
    exchange_mode: ExchangeMode
    output_tag: str | None
    staging_text: str | None
    pipelining_text: str | None
    staging_reason: StagingReason | None


@dataclass(frozen=True, slots=True, kw_only=True)
class VirtualPartition:
    """A virtual node that determines how rows move from `origin_id`, as `declared`."""

    id: int
    origin_id: int
    declared: PartitionTransformation


@dataclass(frozen=True, slots=True, kw_only=True)
class VirtualSideOutput:
    """A virtual node for a side output of `origin_id`."""

    id: int
    origin_id: int
    tag: str


@dataclass(frozen=True)
class StreamGraph:
    """Nodes in the order in which they were translated, edges in the order in which they were made.

    `is_dynamic`: a parallelism that is not set is decided at run time. `source_ids` and `sink_ids` are Flink's lists: a
    sink whose writer is a separate operator is in neither. Derived maps list a node's edges in the graph's order.
    """

    job_name: str
    job_type: JobType
    is_dynamic: bool
    nodes: tuple[StreamNode, ...]
    edges: tuple[StreamEdge, ...]
    virtual_nodes: tuple[VirtualPartition | VirtualSideOutput, ...]
    source_ids: tuple[int, ...]
    sink_ids: tuple[int, ...]

    @cached_property
    def node(self) -> Mapping[int, StreamNode]:
        """Nodes by id."""
        return {node.id: node for node in self.nodes}

    def group_names(self, edge: StreamEdge) -> tuple[str, str]:
        """Return the names of the slot sharing groups of an edge's ends."""
        one, other = (self.node[id].slot_sharing_group.name for id in (edge.source_id, edge.target_id))
        return one, other

    def changes_group(self, edge: StreamEdge) -> bool:
        """Whether an edge connects two slot sharing groups: its ends never share an application."""
        one, other = self.group_names(edge)
        return one != other

    @cached_property
    def in_edges(self) -> Mapping[int, Sequence[StreamEdge]]:
        """Edges by target id."""
        found: dict[int, list[StreamEdge]] = {node.id: [] for node in self.nodes}
        for edge in self.edges:
            found[edge.target_id].append(edge)
        return found

    @cached_property
    def out_edges(self) -> Mapping[int, Sequence[StreamEdge]]:
        """Edges by source id."""
        found: dict[int, list[StreamEdge]] = {node.id: [] for node in self.nodes}
        for edge in self.edges:
            found[edge.source_id].append(edge)
        return found
