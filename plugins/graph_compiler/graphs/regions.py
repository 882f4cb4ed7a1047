"""Sets of job vertices that run together. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from graph_compiler.graphs.job_graph import JobEdge
from graph_compiler.identifiers import JobVertexId, RegionId


@dataclass(frozen=True, slots=True)
class LogicalPipelinedRegion:
    """Job vertices connected by edges that must be pipelined (Flink's noun)."""

    vertex_ids: tuple[JobVertexId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentRegion:
    """The vertices that one Spark application runs, which is one SparkSubmitOperator task (decision 14).

    Vertices are in topological order; `id` is the Airflow task id.
    """

    id: RegionId
    vertex_ids: tuple[JobVertexId, ...]
    slot_sharing_group: str


@dataclass(frozen=True)
class Deployment:
    """Regions in an order in which they can run.

    A staged edge usually connects two regions. If both ends are in one, the region reads back what it staged.
    """

    regions: tuple[DeploymentRegion, ...]

    @cached_property
    def region_of_vertex(self) -> Mapping[JobVertexId, DeploymentRegion]:
        """The region that runs a vertex."""
        return {vertex_id: region for region in self.regions for vertex_id in region.vertex_ids}

    def is_crossing(self, edge: JobEdge) -> bool:
        """Whether an edge connects two regions."""
        region_of = self.region_of_vertex
        return region_of[edge.source_id].id != region_of[edge.target_id].id
