"""Sets of job vertices that run together: regions, which fail as a whole, and tasks, which start Spark. Values only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from graph_compiler.declaration.resources.slot_sharing_group import SlotSharingGroup
from graph_compiler.graphs.job_graph import JobEdge, JobVertex
from graph_compiler.identifiers import JobVertexId, RegionId, TaskName


@dataclass(frozen=True, slots=True)
class LogicalPipelinedRegion:
    """Job vertices connected by edges that must be pipelined (Flink's noun)."""

    vertex_ids: tuple[JobVertexId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentRegion:
    """The vertices that run, commit and fail as a whole (decision 14), in topological order."""

    id: RegionId
    vertex_ids: tuple[JobVertexId, ...]
    slot_sharing_group: SlotSharingGroup

    @classmethod
    def of(cls, id: RegionId, vertices: Sequence[JobVertex]) -> DeploymentRegion:
        """Return the region of vertices, which have one slot sharing group."""
        ids, group = tuple(vertex.id for vertex in vertices), vertices[0].slot_sharing_group
        return cls(id=id, vertex_ids=ids, slot_sharing_group=group)

    @property
    def resource_profile(self) -> SlotSharingGroup | None:
        """Its group if it is more than a name."""
        return None if self.slot_sharing_group.is_only_a_name else self.slot_sharing_group


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentTask:
    """The regions that one Spark application runs one after the other, which is one Airflow task (decision 44).

    Regions are in an order in which they can run; `id` is the Airflow task id, without task groups.
    """

    id: TaskName
    region_ids: tuple[RegionId, ...]
    slot_sharing_group: SlotSharingGroup

    @classmethod
    def of(cls, id: TaskName, regions: Sequence[DeploymentRegion]) -> DeploymentTask:
        """Return the task of regions, which have one slot sharing group."""
        ids, group = tuple(region.id for region in regions), regions[0].slot_sharing_group
        return cls(id=id, region_ids=ids, slot_sharing_group=group)


@dataclass(frozen=True, slots=True, kw_only=True)
class Apart:
    """Why two tasks are not one, though neither a declaration nor their resources separate them."""

    task: TaskName
    other: TaskName
    explanation: str


@dataclass(frozen=True)
class Deployment:
    """Tasks, and all their regions, in an order in which they can run.

    A staged edge usually connects two regions. If both ends are in one, the region reads back what it staged.
    """

    regions: tuple[DeploymentRegion, ...]
    tasks: tuple[DeploymentTask, ...]
    apart: tuple[Apart, ...] = ()

    @cached_property
    def region(self) -> Mapping[RegionId, DeploymentRegion]:
        """The regions by id."""
        return {region.id: region for region in self.regions}

    @cached_property
    def region_of_vertex(self) -> Mapping[JobVertexId, DeploymentRegion]:
        """The region that runs a vertex."""
        return {vertex_id: region for region in self.regions for vertex_id in region.vertex_ids}

    @cached_property
    def task_of_region(self) -> Mapping[RegionId, DeploymentTask]:
        """The task that runs a region."""
        return {region_id: task for task in self.tasks for region_id in task.region_ids}

    @cached_property
    def slot_sharing_groups(self) -> Mapping[TaskName, str]:
        """The name of the slot sharing group of each task."""
        return {task.id: task.slot_sharing_group.name for task in self.tasks}

    def task_of_vertex(self, vertex_id: JobVertexId) -> DeploymentTask:
        """Return the task that runs a vertex."""
        return self.task_of_region[self.region_of_vertex[vertex_id].id]

    def crosses_regions(self, edge: JobEdge) -> bool:
        """Whether an edge connects two regions."""
        region_of = self.region_of_vertex
        return region_of[edge.source_id].id != region_of[edge.target_id].id

    def crosses_tasks(self, edge: JobEdge) -> bool:
        """Whether an edge connects two tasks: then it is a task dependency."""
        return self.task_of_vertex(edge.source_id).id != self.task_of_vertex(edge.target_id).id
