"""The document for Spark: a compiled region, and the execution that runs it.

    RegionDescriptor          depends only on the declaration; vertices, operators, results
    TaskDeploymentDescriptor  the same with templates rendered, plus run, attempt and staging root; Flink's noun

The driver reads it with only the standard library; `wire.from_wire` checks every field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from datetime import datetime

from graph_compiler.declaration.artifacts.user_artifact import UserArtifact
from graph_compiler.declaration.operators import ContractOperator, Operator, RuntimeSettings, Sink
from graph_compiler.declaration.operators.process_functions import StateBackendType
from graph_compiler.declaration.parameters.parameter import ParameterValue
from graph_compiler.declaration.partitioners import Partitioner
from graph_compiler.declaration.resources.slot_sharing_group import SlotSharingGroup
from graph_compiler.declaration.retention import Retention
from graph_compiler.declaration.windows import Flush
from graph_compiler.deployment.documents.heartbeat import ContinuousExecution
from graph_compiler.deployment.documents.position import SourcePosition
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.deployment.documents.stream import END_OF_TIME_MS, SavepointRestoreSettings, StreamQuery
from graph_compiler.deployment.documents.wire import FLAT, digest, from_json, to_json, to_wire
from graph_compiler.errors import SourceLocation
from graph_compiler.extensions import UNSAID
from graph_compiler.graphs.coordination import InitializeOnMaster, OperatorCoordinatorProvider
from graph_compiler.identifiers import IntermediateDataSetId, JobVertexId, OperatorId, RegionId, TaskName

VERSION = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class RunValues:
    """What the rows of a staged result depend on, beside their fingerprint, on all paths to it.

    `parameters` are names, without the run's date. `places` are templates by names for people: those that say more than
    parameters and dates. Every task that stages or reads the result renders them.
    """

    parameters: tuple[str, ...] = ()
    places: tuple[tuple[str, str], ...] = ()

    def digests(self, values: Iterable[tuple[str, ParameterValue]]) -> tuple[tuple[str, str], ...]:
        """Return a digest of each value in a run whose parameters have these values."""
        known = dict(values)
        bound = [(f":{name}", to_wire(known[name])) for name in self.parameters if name in known]
        return tuple((name, digest(value)) for name, value in (*bound, *self.places))


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedInput:
    """A staged result to read, and the fingerprint that it must have.

    `producer` is the region that stages it; `consumers` are all regions that read it, including this one. It must be
    computed with the same `values`.
    """

    id: IntermediateDataSetId
    fingerprint: str
    producer: RegionId
    consumers: tuple[RegionId, ...]
    values: RunValues = field(default=RunValues(), metadata={UNSAID: True})


@dataclass(frozen=True, slots=True, kw_only=True)
class InputDescriptor:
    """One in-edge of an operator.

    If `staged` is None, the producer `node_id` runs in this application; otherwise its rows are read from there.
    `producer_parallelism` is what the producer's declaration sets, None if it sets none. Inputs with the same
    `type_number` are combined (union).
    """

    node_id: int
    output_tag: str | None
    type_number: int
    partitioner: Partitioner
    producer_parallelism: int | None
    staged: StagedInput | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorDescriptor:
    """One operator. `order_by` is the order that a sink gets its rows in, none if they are in none."""

    node_id: int
    operator_id: OperatorId
    name: str
    operator: Operator
    settings: RuntimeSettings = field(metadata={FLAT: True})
    inputs: tuple[InputDescriptor, ...]
    declared_at: SourceLocation | None
    order_by: tuple[str, ...] = field(default=(), metadata={UNSAID: True})


@dataclass(frozen=True, slots=True, kw_only=True)
class VertexDescriptor:
    """A job vertex with its chain, head first, and its hooks and coordinators on the driver."""

    vertex_id: JobVertexId
    name: str
    parallelism: int
    initialize_on_master: tuple[InitializeOnMaster, ...]
    coordinators: tuple[OperatorCoordinatorProvider, ...]
    operators: tuple[OperatorDescriptor, ...]

    def only(self, node_ids: Set[int]) -> VertexDescriptor:
        """Return the vertex with only these operators, and their hooks and coordinators."""
        kept = tuple(each for each in self.operators if each.node_id in node_ids)
        ids = {each.operator_id for each in kept}
        return replace(
            self,
            operators=kept,
            initialize_on_master=tuple(each for each in self.initialize_on_master if each.operator_id in ids),
            coordinators=tuple(each for each in self.coordinators if each.operator_id in ids),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultDescriptor:
    """A result that this region stages: the output of `node_id`, with an `output_tag` if it is a side output.

    `partitions` None: as many as the plan has. `consumers` are the regions that read it. `is_compared`: a consumer may
    have read one copy of it when another copy is committed. `deterministic`: the declaration treats all copies as
    equal.
    """

    id: IntermediateDataSetId
    node_id: int
    output_tag: str | None
    fingerprint: str
    partitions: int | None
    consumers: tuple[RegionId, ...]
    is_compared: bool
    deterministic: bool
    values: RunValues = field(default=RunValues(), metadata={UNSAID: True})


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedResult:
    """An operator whose rows are computed once for several reports of its region (decision 45).

    They are staged with the columns that `names` has: these are all words of what the `readers` compute.
    """

    node_id: int
    readers: int
    names: tuple[str, ...]

    def columns(self, all_columns: Iterable[str]) -> list[str]:
        """Return the columns that are read, at least one if there are any; upper and lower case are the same."""
        known = {each for name in self.names for each in (name.lower(), name.upper())}
        columns = list(all_columns)
        return [name for name in columns if not known.isdisjoint((name.lower(), name.upper()))] or columns[:1]


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionDescriptor:
    """One deployment region, before templates are rendered. `plan_id` is that of the whole pipeline.

    `resource_profile` is that of its slot sharing group, None if only a name was declared. `artifacts` are those of the
    whole pipeline: a task that recomputes a lost result runs the functions of the task that made it. `shares_task` is
    the task that runs it, None if that has the region's name. `positions` are those of its own sources, and of others
    whose rows its sinks write. `stream` is its query if its rows never end, which begins with
    the `savepoint` if that is set, and runs on as `continuous` says; else it publishes what has arrived, and completes
    what waits for a watermark as `flush` says. Its states are in the `state_backend`, None if no option says it.
    """

    pipeline: str
    plan_id: str
    region_id: RegionId
    vertices: tuple[VertexDescriptor, ...]
    results: tuple[ResultDescriptor, ...]
    session: tuple[tuple[str, str], ...]
    resource_profile: SlotSharingGroup | None
    retention: Retention
    artifacts: tuple[UserArtifact, ...] = field(default=(), metadata={UNSAID: True})
    shares_task: TaskName | None = field(default=None, metadata={UNSAID: True})
    positions: tuple[SourcePosition, ...] = field(default=(), metadata={UNSAID: True})
    computed_once: tuple[SharedResult, ...] = field(default=(), metadata={UNSAID: True})
    stream: StreamQuery | None = field(default=None, metadata={UNSAID: True})
    savepoint: SavepointRestoreSettings | None = field(default=None, metadata={UNSAID: True})
    continuous: ContinuousExecution | None = field(default=None, metadata={UNSAID: True})
    flush: Flush = field(default=Flush.NONE, metadata={UNSAID: True})
    state_backend: StateBackendType | None = field(default=None, metadata={UNSAID: True})

    def begun_with(self, start: SavepointRestoreSettings | None) -> RegionDescriptor:
        """Return it with a savepoint for its stream; the same if that is None, or if its rows end."""
        return self if start is None or self.stream is None else replace(self, savepoint=start)

    def bound(self, values: Mapping[str, ParameterValue], mapped: str | None = None) -> RegionDescriptor:
        """Return it with the values of a run, and what its task group is mapped over, for its stream and positions."""
        stream = None if self.stream is None else self.stream.bound(values, mapped)
        return replace(self, stream=stream, positions=tuple(replace(each, mapped=mapped) for each in self.positions))

    @property
    def task_name(self) -> TaskName:
        """The name of the task that runs it."""
        return self.shares_task or TaskName(self.region_id)

    @property
    def operators(self) -> tuple[OperatorDescriptor, ...]:
        """The operators of all vertices, vertex by vertex, heads first."""
        return tuple(operator for vertex in self.vertices for operator in vertex.operators)

    @property
    def of_each_batch(self) -> frozenset[int]:
        """The nodes that a stream computes for each batch, behind its query: sinks, contracts, and what reads these."""
        found: set[int] = set()
        for each in self.operators:
            is_behind = any(edge.node_id in found for edge in each.inputs)
            if is_behind or isinstance(each.operator, Sink | ContractOperator):
                found.add(each.node_id)
        return frozenset(found)

    @property
    def batch_inputs(self) -> tuple[tuple[int, str | None], ...]:
        """The outputs of the query that a batch has, each once; ordered by operator ids, in whatever order declared."""
        ids = {operator.node_id: operator.operator_id for operator in self.operators}
        behind = self.of_each_batch
        edges = (edge for each in self.operators if each.node_id in behind for edge in each.inputs)
        found = {(edge.node_id, edge.output_tag) for edge in edges if edge.node_id not in behind}
        return tuple(sorted(found, key=lambda output: (ids.get(output[0], ""), output[1] or "")))

    def only(self, node_ids: Set[int], results: tuple[ResultDescriptor, ...]) -> RegionDescriptor:
        """Return the region with only these operators and results; a vertex without operators is left out."""
        vertices = (vertex.only(node_ids) for vertex in self.vertices)
        return replace(self, vertices=tuple(vertex for vertex in vertices if vertex.operators), results=results)

    def changed(self, change: Callable[[OperatorDescriptor], OperatorDescriptor]) -> RegionDescriptor:
        """Return the region with every operator changed; hooks and coordinators are kept."""
        vertices = (replace(vertex, operators=tuple(map(change, vertex.operators))) for vertex in self.vertices)
        return replace(self, vertices=tuple(vertices))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionAttempt:
    """One attempt at a region, from 0. Every try of its task has a new `execution_id`."""

    execution_id: str
    attempt_number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDeploymentDescriptor:
    """Everything that one Spark application needs. `parameters` are bound to `:name` in expressions.

    `identity` is that of the run. `logical_date` is the run's, None if it has none. `clears_others`: the caller can
    make tasks run again that have finished. `try_number` is Airflow's, None where there is none. `turn` is the region's
    place, from 0, among several that run in one application. `from_start`: nothing of earlier tries is kept.
    `compiled_for` is the version of pyspark where the plan was compiled, None if there is none. `data_interval_end` is
    the run's, if a stream needs it.
    """

    version: int
    identity: RunIdentity
    region: RegionDescriptor
    attempt: ExecutionAttempt
    staging_root: str
    parameters: tuple[tuple[str, ParameterValue], ...]
    logical_date: str | None = None
    clears_others: bool = False
    try_number: int | None = field(default=None, metadata={UNSAID: True})
    turn: int | None = field(default=None, metadata={UNSAID: True})
    from_start: bool = field(default=False, metadata={UNSAID: True})
    compiled_for: str | None = field(default=None, metadata={UNSAID: True})
    data_interval_end: str | None = field(default=None, metadata={UNSAID: True})

    @property
    def layout(self) -> StagingLayout:
        """Return the paths of the run."""
        return StagingLayout(root=self.staging_root, identity=self.identity)

    @property
    def flushed_until(self) -> int | None:
        """The watermark with which a stream ends its run, in milliseconds since 1970; None if it leaves it as it is."""
        if self.region.flush is Flush.END:
            return END_OF_TIME_MS
        if self.region.flush is Flush.NONE or self.data_interval_end is None:
            return None
        return int(datetime.fromisoformat(self.data_interval_end).timestamp() * 1000)

    @property
    def log_fields(self) -> Mapping[str, object]:
        """Return what its lines in logs are about: the run as `history` takes it, the region, the attempt from 1."""
        return {
            "pipeline": self.identity.owner,
            "run": self.identity.run_id,
            "region": self.region.region_id,
            "attempt": self.attempt.attempt_number + 1,
        }

    def to_json(self) -> str:
        """Encode for the Spark side."""
        return to_json(self)

    @classmethod
    def from_json(cls, text: str) -> TaskDeploymentDescriptor:
        """Decode; raises DescriptorError if the form or the version is a different one."""
        return from_json(cls, text, version=VERSION)
