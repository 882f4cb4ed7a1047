"""A compiled pipeline as text: the tasks, what runs in each, and every staged edge with its reason.

flights · 9 operators · 6 vertices · 2 tasks
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any

from graph_compiler.compiler.regions.cuts import pipelining_words
from graph_compiler.compiler.regions.deployment_checks import why_fixed
from graph_compiler.declaration.connectors import Secret
from graph_compiler.declaration.functions import FunctionRef
from graph_compiler.declaration.operators import Operator, Sink
from graph_compiler.declaration.operators.known_columns import Known
from graph_compiler.explain.documents.graph_json import column_flow, column_words
from graph_compiler.explain.failure_cost import FailureCost, failure_costs
from graph_compiler.explain.text.option_words import option_lines
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.graphs.job_graph import JobEdge, JobVertex
from graph_compiler.graphs.regions import DeploymentRegion
from graph_compiler.identifiers import JobVertexId, TaskName, counted, listing

_NAMED = 3


def explain_text(compiled: CompiledPipeline) -> str:
    """Return the plan as lines of text, which depend only on the declaration."""
    return "\n".join(_lines(compiled))


def explain_tasks(compiled: CompiledPipeline) -> dict[TaskName, str]:
    """Return the part of `explain_text` for each task, by its id."""
    return {id: "\n".join(lines) for id, lines in _task_lines(compiled)}


def _lines(compiled: CompiledPipeline) -> Iterator[str]:
    graph, deployment = compiled.job_graph, compiled.deployment
    operators = len(compiled.stream_graph.nodes)
    sizes = [
        counted(operators, "operator"),
        counted(len(graph.vertices), "vertex", "vertices"),
        counted(len(deployment.tasks), "task"),
    ]
    if len(deployment.regions) > len(deployment.tasks):
        sizes.append(counted(len(deployment.regions), "region"))
    yield " · ".join((compiled.pipeline.name, *sizes))
    if options := list(option_lines(compiled)):
        yield from ("", "options", *options)
    for _, lines in _task_lines(compiled):
        yield ""
        yield from lines
    if len(deployment.regions) > 1:
        yield ""
        yield f"As one region, the pipeline would repeat all {operators} operators."


def _task_lines(compiled: CompiledPipeline) -> Iterator[tuple[TaskName, list[str]]]:
    deployment = compiled.deployment
    splits, costs = split_words(compiled), failure_costs(compiled)
    columns = column_flow(compiled.stream_graph)
    for task in deployment.tasks:
        regions = [deployment.region[id] for id in task.region_ids]
        count = f" · {counted(len(regions), 'region')}" if len(regions) > 1 else ""
        lines = [f"task {task.id}{count}{region_words(regions[0], compiled)}"]
        lines += [
            f"  apart from task {apart.other}, because {apart.explanation}"
            for apart in deployment.apart
            if apart.task == task.id
        ]
        for region in regions:
            own = _region_lines(region, splits, costs[region.id], columns, compiled)
            if len(regions) == 1:
                lines += own
            else:
                lines += [f"  region {region.id}", *(f"  {line}" for line in own)]
        yield task.id, lines


def _region_lines(
    region: DeploymentRegion,
    splits: Mapping[JobVertexId, str],
    cost: FailureCost,
    columns: Mapping[int, Known],
    compiled: CompiledPipeline,
) -> Iterator[str]:
    for vertex_id in region.vertex_ids:
        vertex, about = compiled.job_graph.vertex[vertex_id], splits.get(vertex_id, "")
        yield from _vertex_lines(vertex, about, region, columns, compiled)
    yield f"  a failure at its end {_cost_words(cost, len(compiled.stream_graph.nodes))}"


def _cost_words(cost: FailureCost, operators: int) -> str:
    if len(cost.repeated) == operators:
        repeated, names = f"all {counted(operators, 'operator')}", []
    else:
        repeated, names = f"{len(cost.repeated)} of {operators} operators", [_some(cost.repeated)]
    if cost.expensive:
        verb = "is" if len(cost.expensive) == 1 else "are"
        names.append(f"{listing(cost.expensive)} {verb} expensive")
    about = f" ({'; '.join(names)})" if names else ""
    spared = f", and reads {_some(cost.reread)} again instead of computing {cost.spared} more"
    return f"repeats {repeated}{about}{spared if cost.reread else ''}"


def _some(names: Sequence[str]) -> str:
    """Return a few names in full; if there are more, only the first two and the last."""
    if len(names) > _NAMED:
        return f"{', '.join(names[:2])}, … {names[-1]}"
    return listing(names)


def _vertex_lines(
    vertex: JobVertex, splits: str, region: DeploymentRegion, columns: Mapping[int, Known], compiled: CompiledPipeline
) -> Iterator[str]:
    parallelism = f"    [parallelism: {vertex.parallelism}]" if vertex.parallelism_configured else ""
    yield f"  {vertex.name}{parallelism}{vertex_words(vertex, compiled)}{splits}"
    yield from (f"    {words}" for words in _fixed_words(vertex, compiled))
    for node_id in vertex.node_ids:
        node = compiled.stream_graph.node[node_id]
        if isinstance(node.operator, Sink) and (words := column_words(columns[node_id])):
            yield f"    columns of {node.declared_name}: {words}"
    for edge in compiled.job_graph.in_edges[vertex.id]:
        yield f"    ◀─ {_edge_words(edge, region, compiled)}"
        staging = edge.staging
        if reason := staging.explanation if staging else pipelining_words(edge.stream_edge):
            yield f"       {reason}"


def _fixed_words(vertex: JobVertex, compiled: CompiledPipeline) -> Iterator[str]:
    """Yield which rows are staged once because recomputing them may change them (decision 9)."""
    graph = compiled.stream_graph
    for node_id in vertex.node_ids:
        node, readers = graph.node[node_id], len(graph.out_edges[node_id])
        if readers > 1 and (reason := why_fixed(node)):
            yield f"{node.declared_name}: staged once for its {readers} readers, because {reason}"


def _edge_words(edge: JobEdge, region: DeploymentRegion, compiled: CompiledPipeline) -> str:
    producer = compiled.stream_graph.node[edge.stream_edge.source_id].declared_name
    tag = f".{edge.stream_edge.output_tag}" if edge.stream_edge.output_tag else ""
    words = f"{producer}{tag} · {edge.stream_edge.partitioner.label}"
    deployment = compiled.deployment
    from_region = deployment.region_of_vertex[edge.source_id]
    if edge.reads_source_again:
        return f"{words} · read again, from the files that were listed for region {from_region.id}"
    if edge.staging is None:
        return f"{words} · in memory"
    from_task = deployment.task_of_region[from_region.id]
    if from_region.id == region.id:
        where = "read back here"
    elif from_task == deployment.task_of_region[region.id]:
        where = f"by region {from_region.id} of this task"
    else:
        where = f"by task {from_task.id}"
    return f"{words} · staged {where}"


def region_words(region: DeploymentRegion, compiled: CompiledPipeline) -> str:
    """Return the resources of the region's slot sharing group as text."""
    group = compiled.job_graph.resource_profile.get(region.slot_sharing_group)
    return "" if group is None else f"    [slot sharing group {group}]"


def split_words(compiled: CompiledPipeline) -> Mapping[JobVertexId, str]:
    """Return the number of input splits of a vertex's sources as text, if their connectors know it in advance."""
    graph = compiled.execution_graph
    counts = {
        vertex.id: sum(len(assigner.splits) for assigner in vertex.input_splits)
        for vertex in (graph.vertices if graph else ())
        if vertex.input_splits
    }
    return {id: f"    [{counted(count, 'input split')}]" for id, count in counts.items()}


def vertex_words(vertex: JobVertex, compiled: CompiledPipeline) -> str:
    """Return the needs of the vertex as text; if only some of its operators declare any, why the sum is unknown."""
    least, preferred = vertex.min_resources, vertex.preferred_resources
    if least is not None:
        prefers = f", prefers {preferred}" if preferred not in (None, least) else ""
        return f"    [needs {least}{prefers}]"
    nodes = [compiled.stream_graph.node[id] for id in vertex.node_ids[-len(vertex.operator_ids) :]]
    silent = [f"'{node.declared_name}'" for node in nodes if node.settings.min_resources is None]
    if len(silent) == len(nodes):
        return ""
    return f"    [needs: unknown, since {listing(silent)} {_declare(len(silent))} none]"


def _declare(operators: int) -> str:
    return "declares" if operators == 1 else "declare"


# The settings of an operator as text, for its box in the view: unset ones are left out.
#
# Join(on=(("k", "id"), ("day", "day")), how=LEFT)   →   on: k = id · how: left
#                                                         on: day

_MOST = 20
_LONGEST = 300
_ROWS = "rows"
_UNSHOWN = "attributes"


def operator_details(operator: Operator) -> tuple[str, ...]:
    """Return at most twenty lines, each of a few hundred characters; rows in the declaration are only counted."""
    said = [_shortened(words) for words in _of_dataclass(operator)]
    more = len(said) - _MOST
    return (*said[:_MOST], *([f"… and {more} more"] if more > 0 else []))


def _shortened(words: str) -> str:
    one_line = " ".join(words.split())
    return one_line if len(one_line) <= _LONGEST else f"{one_line[:_LONGEST]}…"


def _of_dataclass(value: Any) -> Iterator[str]:
    for field in fields(value):
        found = getattr(value, field.name)
        if field.name != _UNSHOWN and found != _default(field):
            yield from _words(field.name, found)


def _default(field: Field[Any]) -> object:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return None if field.default is MISSING else field.default


def _words(name: str, value: Any) -> Iterator[str]:
    match value:
        case FunctionRef() | Secret():
            yield f"{name}: {value}"
        case _ if is_dataclass(value):
            yield f"{name}: {type(value).__name__}"
            yield from _of_dataclass(value)
        case tuple():
            yield from _tuple_words(name, value)
        case Mapping():
            for key, item in value.items():
                yield from _words(f"{name}.{key}", item)
        case _:
            yield f"{name}: {value}"


def _tuple_words(name: str, items: tuple[Any, ...]) -> Iterator[str]:
    if name == _ROWS:
        yield f"{name}: {counted(len(items), 'row')}"
    elif all(isinstance(item, tuple) and len(item) == 2 for item in items):
        for one, other in items:
            yield f"{name}: {one}" if one == other else f"{name}: {one} = {other}"
    else:
        yield f"{name}: {', '.join(map(str, items))}"
