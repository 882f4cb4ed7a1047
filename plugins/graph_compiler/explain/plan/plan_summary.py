"""What is compared between two versions of a pipeline: operators, staged results and tasks, as a document.

It is passed between processes: each version is compiled in a separate one, so that their modules do not mix.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields

from graph_compiler.declaration.artifacts.user_artifact import UserArtifact
from graph_compiler.declaration.operators import Sink
from graph_compiler.declaration.operators.known_columns import Known
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.deployment.describe.fingerprints import fingerprints, own_facts
from graph_compiler.deployment.describe.region_descriptors import PipelineDescriptor
from graph_compiler.deployment.documents.descriptor import RegionDescriptor, StagedInput
from graph_compiler.deployment.documents.wire import ABSENT, Json, to_wire, values_within
from graph_compiler.explain.plan.operator_words import column_flow
from graph_compiler.extensions import UNSAID
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.graphs.stream_graph import StreamGraph, StreamNode
from graph_compiler.identifiers import IntermediateDataSetId, OperatorId, TaskName

VERSION = 2
_DIGEST = 12
_MOST_COLUMNS = 500
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

    def result_name(self, result: ResultSummary) -> str:
        """Return the name of a result, from its operator and tag: `flown`, `flown.cancelled`."""
        tag = f".{result.output_tag}" if result.output_tag else ""
        return f"{self.operators[result.operator].name}{tag}"


def plan_summary(compiled: CompiledPipeline, described: PipelineDescriptor, root: str | None = None) -> PlanSummary:
    """Summarize a plan as it is deployed.

    `root` is the folder of the version: defaults that are paths below it are compared relative to it.
    """
    graph = compiled.stream_graph
    digests = {node.id: planned.digest for node, planned in zip(graph.nodes, described.plan.operators, strict=True)}
    prints = fingerprints(graph, digests, dict(described.plan.session))
    operator_ids = {
        operator.node_id: operator.operator_id for region in described.regions for operator in region.operators
    }
    places = {node.id: place for place, node in enumerate(graph.nodes)}
    columns = column_flow(graph)
    return PlanSummary(
        version=VERSION,
        pipeline=compiled.pipeline.name,
        plan_id=described.plan.plan_id,
        session=described.plan.session,
        strict_sources=compiled.options.strict_sources,
        run=tuple(
            (fact, value if root is None else value.replace(f"{root}/", ""))
            for fact, value in _run_facts(compiled.pipeline)
        ),
        operators=tuple(
            OperatorSummary(
                id=operator_ids[node.id],
                name=node.declared_name,
                uid=node.settings.uid,
                digest=digests[node.id],
                fingerprint=prints[node.id],
                facts=_operator_facts(node, graph, compiled.pipeline.artifacts.found),
                inputs=tuple(places[edge.source_id] for edge in graph.in_edges[node.id]),
                columns=_sink_columns(node, columns[node.id]),
            )
            for node in graph.nodes
        ),
        results=tuple(
            ResultSummary(
                id=result.id,
                operator=places[result.node_id],
                output_tag=result.output_tag,
                fingerprint=result.fingerprint,
            )
            for region in described.regions
            for result in region.results
        ),
        tasks=tuple(_task(name, regions, places) for name, regions in described.tasks().items()),
    )


def _sink_columns(node: StreamNode, known: Known) -> Facts:
    """Return the columns of a sink; none if they are unknown, or too many for a document that Airflow keeps."""
    if known is None or not isinstance(node.operator, Sink) or len(known) > _MOST_COLUMNS:
        return ()
    return tuple((column.name, column.type or "") for column in known)


def _run_facts(pipeline: Pipeline) -> Iterator[tuple[str, str]]:
    for parameter in pipeline.parameters:
        yield f"params.{parameter.name}", repr(parameter.default)
        for keyword, said in parameter.keywords.items():
            yield f"params.{parameter.name}.{keyword}", str(said)
    if pipeline.schedule is not None:
        for each in fields(pipeline.schedule):
            value = getattr(pipeline.schedule, each.name)
            if value != each.default:
                yield f"schedule.{each.name}", str(value)


def _task(name: TaskName, regions: Sequence[RegionDescriptor], places: dict[int, int]) -> TaskSummary:
    settings: dict[str, Json] = {
        "vertices": sum(len(region.vertices) for region in regions),
        "slot sharing group": to_wire(regions[0].resource_profile),
        "staging": to_wire(regions[0].retention),
    }
    if len(regions) > 1:
        settings["shared by regions"] = [region.region_id for region in regions]
    operators = [operator for region in regions for operator in region.operators]
    stages = tuple(result.id for region in regions for result in region.results)
    reads = (staged.id for region in regions for staged in values_within(region, StagedInput))
    return TaskSummary(
        id=name,
        operators=tuple(places[operator.node_id] for operator in operators),
        stages=stages,
        reads=tuple(dict.fromkeys(id for id in reads if id not in stages or len(regions) == 1)),
        settings=tuple(_flat("", settings)),
    )


def _operator_facts(node: StreamNode, graph: StreamGraph, artifacts: Sequence[UserArtifact]) -> Facts:
    facts = own_facts(node, graph, artifacts)
    operator, inputs = facts.pop("operator"), facts.pop("inputs")
    assert isinstance(operator, dict)
    assert isinstance(inputs, list)
    kind: dict[str, Json] = {"operator": operator.pop("type")}
    routes = {f"input {number}": route for number, route in enumerate(inputs, start=1)}
    return tuple(_flat("", kind | operator | facts | routes))


def _flat(path: str, value: Json) -> Iterator[tuple[str, str]]:
    """Yield every value with its path; for a dataclass of the wire, its type is under its own path."""
    if isinstance(value, dict):
        for key, item in value.items():
            inner = f"{path}.{key}" if path else key
            yield from _flat(path if key == "type" and path else inner, item)
    elif isinstance(value, list):
        yield from _flat_list(path, value)
    elif value is not None:
        yield path, str(value)[:_DIGEST] if path.endswith("source_digest") else str(value)


def _flat_list(path: str, items: list[Json]) -> Iterator[tuple[str, str]]:
    """Yield plain items together, and other items one by one."""
    plain = [item for item in items if item is not None and not isinstance(item, dict | list)]
    if plain:
        yield path, ", ".join(map(str, plain))
    for number, item in enumerate(items):
        if isinstance(item, dict | list):
            yield from _flat(f"{path}[{number}]", item)
