"""A compiled pipeline as one value: what `explain`, its pictures, the web view and the Dag are made from.

    CompiledPipeline ── plan_of ──▶ Plan ──▶ text, pictures, JSON, page
                                     └─────▶ document: in the serialized Dag ──▶ PlanDocument ──▶ view, differences

A plan is a function of the declaration alone, and the same on every host, since Airflow keeps its document in the Dag's
versions. A field that is EXPLAIN_ONLY is not in the document, which has to stay small.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from graph_compiler.compiler.job_graph.chaining import ChainBreak
from graph_compiler.declaration.partitioners import DistributionPattern, ExchangeMode
from graph_compiler.deployment.documents.stream import StreamQuery
from graph_compiler.deployment.documents.wire import ABSENT, Json, from_wire, to_wire
from graph_compiler.errors import DescriptorError
from graph_compiler.explain.documents.plain_json import EXPLAIN_ONLY, plain_json
from graph_compiler.extensions import UNSAID
from graph_compiler.graphs.job_graph import ResultPartitionType
from graph_compiler.graphs.regions import Apart, DeploymentTask
from graph_compiler.graphs.stream_graph import StagingReason
from graph_compiler.identifiers import IntermediateDataSetId, JobVertexId, OperatorId, RegionId, TaskName

VERSION = 1
"""That of the document, and of what the view reads of it."""
SUMMARY_VERSION = 2
"""That of what is compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOption:
    """An option whose value differs from the default."""

    key: str
    value: str
    set_by: str
    default: str = field(metadata={EXPLAIN_ONLY: True})


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOperator:
    """One operator; `declared_at` has the file relative to its project, since hosts have different parent folders."""

    id: int
    name: str
    kind: str
    uid: str | None
    operator_id: OperatorId | None
    vertex: JobVertexId
    parallelism: int
    parallelism_configured: bool
    details: tuple[str, ...]
    declared_at: str | None
    expensive: bool
    display_name: str = field(metadata={EXPLAIN_ONLY: True})
    """Flink's."""
    uid_hash: str | None = field(metadata={EXPLAIN_ONLY: True})
    sink_columns: str | None = field(metadata={EXPLAIN_ONLY: True})
    """The columns that a sink is given, as text."""
    waits_for_end: bool = field(metadata={EXPLAIN_ONLY: True})
    """Whether it emits nothing before it has read all its input."""
    staged_once: str | None = field(metadata={EXPLAIN_ONLY: True})
    """That its rows are staged once for all readers, and why."""
    position: str | None = field(metadata={EXPLAIN_ONLY: True})
    """Of a source that reads only what is new, what that is; of an operator with state, that earlier runs count."""
    counted_apart: str | None = field(metadata={EXPLAIN_ONLY: True})
    """That a contract is counted by a job of its own, and why."""
    delivery: str | None = field(metadata={EXPLAIN_ONLY: True})
    """Of a sink that may have the rows of a run twice: when."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanStreamEdge:
    """An edge of two operators; partitioner and tag are Flink's virtual nodes."""

    id: str
    source: int
    target: int
    partitioner: str
    output_tag: str | None
    is_chained: bool
    why_not_chained: ChainBreak | None
    exchange_mode: ExchangeMode = field(metadata={EXPLAIN_ONLY: True})


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanVertex:
    """One job vertex; `parallelism` None is decided at run time."""

    id: JobVertexId
    index: int
    name: str
    operators: tuple[int, ...]
    region: RegionId
    parallelism: int | None
    parallelism_configured: bool
    max_parallelism: int | None
    slot_sharing_group: str
    needs: str | None = field(metadata={EXPLAIN_ONLY: True})
    """The resources of a subtask, as text; None if none of its operators declares any."""
    input_splits: int = field(metadata={EXPLAIN_ONLY: True})
    """Those of its sources whose connectors know them in advance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanJobEdge:
    """One job edge; `result` and `reason` only where it is staged.

    `explanation` says why it is, or why it stays in memory if the declaration requests that.
    """

    id: str
    source: JobVertexId
    target: JobVertexId
    from_operator: int
    to_operator: int
    ship_strategy: str
    words: str
    result_type: ResultPartitionType
    distribution: DistributionPattern
    output_tag: str | None
    result: IntermediateDataSetId | None
    is_staged: bool
    reason: StagingReason | None
    explanation: str | None
    reads_source_again: bool = field(metadata={EXPLAIN_ONLY: True})


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureCost:
    """What a failure at the end of a region repeats."""

    region: RegionId = field(metadata={EXPLAIN_ONLY: True})
    repeated: tuple[str, ...]
    """Operators by name, in the order of the region's vertices."""
    expensive: tuple[str, ...]
    """Those of them that are declared so."""
    reread: tuple[str, ...]
    """The results that other regions have staged for it."""
    spared: int
    """The number of operators before it, in other regions, that are not recomputed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRegion:
    """One region and the Airflow task that runs it; `resources` as text."""

    id: RegionId
    task: TaskName
    vertices: tuple[JobVertexId, ...]
    slot_sharing_group: str
    resources: tuple[str, ...]
    failure_cost: FailureCost
    is_stream: bool = field(metadata={EXPLAIN_ONLY: True})
    """Whether its rows never end: a failure repeats one batch."""
    group_words: str | None = field(metadata={EXPLAIN_ONLY: True})
    """Its slot sharing group with its settings, if it is declared with any."""


# What is compared between two versions of a pipeline. Each is compiled in a process of its own, or read from a Dag.

Facts = tuple[tuple[str, str], ...]
"""Settings by name, as text: `("condition", "delay > 5")`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorSummary:
    """One operator: `digest` covers its own computation, `fingerprint` everything that determines its rows.

    `inputs` are indexes in `PlanSummary.operators`.
    """

    id: OperatorId
    name: str
    uid: str | None
    digest: str
    fingerprint: str
    facts: Facts
    inputs: tuple[int, ...]
    columns: Facts = field(default=(), metadata={UNSAID: True})
    """Of a sink: the names and types of the columns that it is given; a type is empty if it is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultSummary:
    """One staged result: the output of the operator at an index, with a tag if it is a side output."""

    id: IntermediateDataSetId
    operator: int
    output_tag: str | None
    fingerprint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSummary:
    """One task: the indexes of its operators, the results it stages and reads, and its resources."""

    id: TaskName
    operators: tuple[int, ...]
    stages: tuple[IntermediateDataSetId, ...]
    reads: tuple[IntermediateDataSetId, ...]
    settings: Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSummary:
    """One version of a pipeline; `session` are the settings that can change a result, including Spark's version.

    `run` has the defaults of a run: its parameters and its schedule. `strict_sources`: whether sources check every
    record. Versions before 0.2 did not, and do not say so.
    """

    version: int
    pipeline: str
    plan_id: str
    session: Facts
    strict_sources: bool = field(metadata={ABSENT: False})
    run: Facts
    operators: tuple[OperatorSummary, ...]
    results: tuple[ResultSummary, ...]
    tasks: tuple[TaskSummary, ...]
    streams: tuple[StreamQuery, ...] = field(default=(), metadata={UNSAID: True})

    def result_name(self, result: ResultSummary) -> str:
        """Return the name of a result, from its operator and tag: `flown`, `flown.cancelled`."""
        tag = f".{result.output_tag}" if result.output_tag else ""
        return f"{self.operators[result.operator].name}{tag}"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One compiled pipeline. `plan_id` is None where it cannot be deployed."""

    version: int
    pipeline: str
    plan_id: str | None
    description: str | None
    options: tuple[PlanOption, ...]
    operators: tuple[PlanOperator, ...]
    """As in the stream graph, like its edges; vertices and regions are in topological order."""
    stream_edges: tuple[PlanStreamEdge, ...]
    vertices: tuple[PlanVertex, ...]
    edges: tuple[PlanJobEdge, ...]
    regions: tuple[PlanRegion, ...]
    tasks: tuple[DeploymentTask, ...] = field(metadata={EXPLAIN_ONLY: True})
    apart: tuple[Apart, ...] = field(metadata={EXPLAIN_ONLY: True})
    compared_by: PlanSummary | None = field(metadata={EXPLAIN_ONLY: True})
    """What differences are found by; None where `plan_id` is."""

    def document(self) -> dict[str, Json]:
        """Return what the Dag keeps: the view's part, and that by which two plans are compared."""
        assert self.compared_by is not None, "only what is deployed is kept"
        return {"version": VERSION, "view": plain_json(self), "compared_by": to_wire(self.compared_by)}

    @cached_property
    def operator(self) -> Mapping[int, PlanOperator]:
        """Operators by id."""
        return {operator.id: operator for operator in self.operators}

    @cached_property
    def vertex(self) -> Mapping[JobVertexId, PlanVertex]:
        """Vertices by id."""
        return {vertex.id: vertex for vertex in self.vertices}

    @cached_property
    def region(self) -> Mapping[RegionId, PlanRegion]:
        """Regions by id."""
        return {region.id: region for region in self.regions}

    @cached_property
    def inputs(self) -> Mapping[JobVertexId, Sequence[PlanJobEdge]]:
        """Job edges by target, in input order."""
        found: dict[JobVertexId, list[PlanJobEdge]] = {vertex.id: [] for vertex in self.vertices}
        for edge in self.edges:
            found[edge.target].append(edge)
        return found

    def region_of(self, vertex: JobVertexId) -> PlanRegion:
        """Return the region that runs a vertex."""
        return self.region[self.vertex[vertex].region]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanDocument:
    """The document of a plan that any version has written; raises DescriptorError if this one cannot read it.

    The view's part is not decoded: the server passes it on to the page, with what an earlier version wrote in it.
    """

    view: Mapping[str, Any]
    compared_by: Json

    @classmethod
    def of(cls, document: Json) -> PlanDocument:
        """Read a document, and add what earlier versions did not write."""
        version = document.get("version") if isinstance(document, dict) else None
        if version != VERSION:
            raise DescriptorError(f"the plan of the Dag has version {version!r}; this program reads version {VERSION}")
        match document:
            case {"view": {} as view, "compared_by": compared_by}:
                for region in view.get("regions", []):  # one task each, before tasks could have several
                    region.setdefault("task", region["id"])
                return cls(view=view, compared_by=compared_by)
        raise DescriptorError("the plan of the Dag cannot be read: nothing in it can be drawn")

    def summary(self) -> PlanSummary:
        """Decode that by which plans are compared; raises DescriptorError if another version wrote it differently."""
        return from_wire(PlanSummary, self.compared_by)

    def tasks(self) -> Mapping[TaskName, Sequence[RegionId]]:
        """Return the regions of each task."""
        found: dict[TaskName, list[RegionId]] = {}
        for region in self.view["regions"]:
            found.setdefault(TaskName(region["task"]), []).append(RegionId(region["id"]))
        return found

    def staged(self) -> frozenset[IntermediateDataSetId]:
        """Return the staged results."""
        return frozenset(edge["result"] for edge in self.view["edges"] if edge["is_staged"])
