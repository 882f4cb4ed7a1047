"""What crosses to Spark: a region as the compiler left it, and the execution that runs it.

    RegionDescriptor          a function of the declaration; vertices, operators, results
    TaskDeploymentDescriptor  the same with templates rendered, plus run, attempt and staging root; Flink's noun

The driver reads it with the standard library; `wire.from_wire` checks every field.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass, field, replace

from graph_compiler.declaration.operators import Operator, RuntimeSettings
from graph_compiler.declaration.parameters.parameter import ParameterValue
from graph_compiler.declaration.partitioners import Partitioner
from graph_compiler.declaration.resources.slot_sharing_group import SlotSharingGroup
from graph_compiler.declaration.retention import Retention
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.deployment.documents.wire import FLAT, from_json, to_json
from graph_compiler.errors import SourceLocation
from graph_compiler.graphs.coordination import InitializeOnMaster, OperatorCoordinatorProvider
from graph_compiler.identifiers import IntermediateDataSetId, JobVertexId, OperatorId, RegionId

VERSION = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedInput:
    """A staged result to read, and the fingerprint it must have: what it was compiled to hold.

    `producer` makes it; `consumers` are all who read it, this region included.
    """

    id: IntermediateDataSetId
    fingerprint: str
    producer: RegionId
    consumers: tuple[RegionId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class InputDescriptor:
    """One in-edge of an operator.

    `staged` None means the producer `node_id` runs in this application; else its rows are read from there.
    `producer_parallelism` is what the producer's declaration sets, None where it sets none.
    Inputs of one `type_number` are put together (union).
    """

    node_id: int
    output_tag: str | None
    type_number: int
    partitioner: Partitioner
    producer_parallelism: int | None
    staged: StagedInput | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorDescriptor:
    """One operator."""

    node_id: int
    operator_id: OperatorId
    name: str
    operator: Operator
    settings: RuntimeSettings = field(metadata={FLAT: True})
    inputs: tuple[InputDescriptor, ...]
    declared_at: SourceLocation | None


@dataclass(frozen=True, slots=True, kw_only=True)
class VertexDescriptor:
    """A job vertex with its chain, head first, and what the driver does for it before and beside."""

    vertex_id: JobVertexId
    name: str
    parallelism: int
    initialize_on_master: tuple[InitializeOnMaster, ...]
    coordinators: tuple[OperatorCoordinatorProvider, ...]
    operators: tuple[OperatorDescriptor, ...]

    def only(self, node_ids: Set[int]) -> VertexDescriptor:
        """Return the vertex with these of its operators, and with the hooks and coordinators of these only."""
        kept = tuple(each for each in self.operators if each.node_id in node_ids)
        ids = {each.operator_id for each in kept}
        return replace(
            self,
            operators=kept,
            initialize_on_master=tuple(
                each for each in self.initialize_on_master if each.operator_id in ids
            ),
            coordinators=tuple(each for each in self.coordinators if each.operator_id in ids),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultDescriptor:
    """A result this region stages: the output of `node_id`, under `output_tag` where it is a side output.

    `partitions` None: as many as the plan gives. `consumers` are the regions that read it. `is_compared`: one of them
    may have finished from a copy of it when another copy is made. `deterministic`: the declaration says that every copy
    is as good as another.
    """

    id: IntermediateDataSetId
    node_id: int
    output_tag: str | None
    fingerprint: str
    partitions: int | None
    consumers: tuple[RegionId, ...]
    is_compared: bool
    deterministic: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionDescriptor:
    """One deployment region, before templates are rendered. `plan_id` is that of the whole pipeline.

    `resource_profile` is what its slot sharing group was declared to give it, None where that was a name only.
    """

    pipeline: str
    plan_id: str
    region_id: RegionId
    vertices: tuple[VertexDescriptor, ...]
    results: tuple[ResultDescriptor, ...]
    session: tuple[tuple[str, str], ...]
    resource_profile: SlotSharingGroup | None
    retention: Retention

    @property
    def operators(self) -> tuple[OperatorDescriptor, ...]:
        """The operators of all vertices, vertex by vertex, heads first."""
        return tuple(operator for vertex in self.vertices for operator in vertex.operators)

    def only(self, node_ids: Set[int], results: tuple[ResultDescriptor, ...]) -> RegionDescriptor:
        """Return the region with these of its operators and results; a vertex without an operator is left out."""
        vertices = (vertex.only(node_ids) for vertex in self.vertices)
        return replace(
            self, vertices=tuple(vertex for vertex in vertices if vertex.operators), results=results
        )

    def changed(
        self, change: Callable[[OperatorDescriptor], OperatorDescriptor]
    ) -> RegionDescriptor:
        """Return the region with every operator changed; hooks and coordinators stay."""
        vertices = (
            replace(vertex, operators=tuple(map(change, vertex.operators)))
            for vertex in self.vertices
        )
        return replace(self, vertices=tuple(vertices))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionAttempt:
    """One attempt at a region: Airflow's try `attempt_number` + 1. `execution_id` is new for every try."""

    execution_id: str
    attempt_number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDeploymentDescriptor:
    """All that one Spark application needs to know. `parameters` are bound to `:name` in expressions.

    `identity` says of which run. `logical_date` is that run's, None where it has none. `clears_others`: who starts the
    application can have tasks that have finished run again.
    """

    version: int
    identity: RunIdentity
    region: RegionDescriptor
    attempt: ExecutionAttempt
    staging_root: str
    parameters: tuple[tuple[str, ParameterValue], ...]
    logical_date: str | None = None
    clears_others: bool = False

    @property
    def layout(self) -> StagingLayout:
        """Return the paths of the run."""
        return StagingLayout(root=self.staging_root, identity=self.identity)

    def to_json(self) -> str:
        """Encode for the Spark side."""
        return to_json(self)

    @classmethod
    def from_json(cls, text: str) -> TaskDeploymentDescriptor:
        """Decode; raises DescriptorError where form or version differ."""
        return from_json(cls, text, version=VERSION)
