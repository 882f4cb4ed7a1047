"""Sets of job vertices that run together, and the reasons for what lies between them. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from graph_compiler.graphs.job_graph import JobEdge
from graph_compiler.graphs.staging_reasons import StagingReason
from graph_compiler.identifiers import JobVertexId, RegionId


@dataclass(frozen=True, slots=True)
class LogicalPipelinedRegion:
    """Flink's: job vertices that edges which must be pipelined join."""

    vertex_ids: tuple[JobVertexId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedEdge:
    """A job edge whose data is committed to durable storage between producer and consumer.

    `explanation` is for people, in a few words: `because you asked: "read by several reports"`.
    """

    edge: JobEdge
    reason: StagingReason
    explanation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentRegion:
    """The vertices one Spark application runs = one SparkSubmitOperator task (decision 14).

    Vertices are in topological order; `id` is the Airflow task id.
    """

    id: RegionId
    vertex_ids: tuple[JobVertexId, ...]
    slot_sharing_group: str


@dataclass(frozen=True)
class Deployment:
    """Regions in an order in which they can run, and every staged edge with its reason.

    A staged edge usually joins two regions; both ends may lie in one, which then reads back what it staged.
    """

    regions: tuple[DeploymentRegion, ...]
    staged_edges: tuple[StagedEdge, ...]

    @cached_property
    def region_of_vertex(self) -> Mapping[JobVertexId, DeploymentRegion]:
        """The region that runs a vertex."""
        return {vertex_id: region for region in self.regions for vertex_id in region.vertex_ids}

    def crossing_edges(self) -> tuple[StagedEdge, ...]:
        """Give the staged edges between two regions: the task dependencies."""
        region_of = self.region_of_vertex
        return tuple(
            staged
            for staged in self.staged_edges
            if region_of[staged.edge.source_id].id != region_of[staged.edge.target_id].id
        )
