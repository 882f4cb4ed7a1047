"""Problems of the resources of operators and slot sharing groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from graph_compiler.declaration.call_checks import problems_at
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.declaration.resources.resource_spec import SPEC_FORM, amount_words, exceeding
from graph_compiler.declaration.resources.slot_sharing_group import SlotSharingGroup
from graph_compiler.declaration.transformations import PhysicalTransformation, problem_at
from graph_compiler.errors import Problem
from graph_compiler.graphs.job_graph import JobGraph, JobVertex
from graph_compiler.graphs.regions import LogicalPipelinedRegion
from graph_compiler.graphs.stream_graph import JobType, StreamGraph
from graph_compiler.identifiers import JobVertexId, listing

RegionsOf = Callable[[JobGraph], Sequence[LogicalPipelinedRegion]]


def _groups(pipeline: Pipeline) -> Iterator[tuple[PhysicalTransformation, SlotSharingGroup]]:
    """Yield each group with the operator that declares or names it."""
    for operator in pipeline.operators:
        if (group := operator.settings.slot_sharing_group) is not None:
            yield operator, group


def declared_groups(pipeline: Pipeline) -> Mapping[str, SlotSharingGroup]:
    """Return the groups that are declared with more than a name, by name; the pipeline has been checked."""
    return {group.name: group for _, group in _groups(pipeline) if not group.is_only_a_name}


def invalid_groups(pipeline: Pipeline) -> Iterator[Problem]:
    """Find slot sharing groups that Spark would not start, each at its first declaration."""
    seen = []
    for operator, group in _groups(pipeline):
        if group in seen:
            continue
        seen.append(group)
        for problem in problems_at(operator, group):
            words = f"in its slot sharing group '{group.name}' {problem.message}"
            yield replace(problem, message=words)


def differing_groups(pipeline: Pipeline) -> Iterator[Problem]:
    """Find groups that two operators declare differently; a name alone does not declare a group."""
    first: dict[str, tuple[PhysicalTransformation, SlotSharingGroup]] = {}
    for operator, group in _groups(pipeline):
        if group.is_only_a_name:
            continue
        other, earlier = first.setdefault(group.name, (operator, group))
        if earlier != group:
            yield problem_at(
                operator,
                f"it declares slot sharing group '{group}', but "
                f"'{other.name}' declares '{earlier}' ({other.declared_at})",
                hint="declare a group once and refer to it by name, or use a different name for the second",
            )


def resources(pipeline: Pipeline) -> Iterator[Problem]:
    """Find resources that are not numbers, and minimums over the preferred ones (Flink's validateMinAndPreferred)."""
    for operator in pipeline.operators:
        settings = operator.settings
        least, preferred = settings.min_resources, settings.preferred_resources
        specs = dict.fromkeys(spec for spec in (least, preferred) if spec is not None)
        if wrong := [problem.message for spec in specs for problem in spec.problems()]:
            yield problem_at(operator, f"of its resources {listing(wrong)}", allowed=SPEC_FORM)
        elif (least is None) != (preferred is None):
            which = "minimum" if least is None else "preferred"
            yield problem_at(
                operator,
                f"its {which} resources are unknown, the others are {least or preferred}",
                allowed="both, or neither",
            )
        elif least and preferred and (over := exceeding(least, preferred.amounts())):
            yield problem_at(
                operator,
                f"it needs at least {amount_words(over)}, but prefers {preferred}",
                allowed="preferred resources of at least the minimum",
            )


def group_problems(stream_graph: StreamGraph, graph: JobGraph, regions_of: RegionsOf) -> Iterator[Problem]:
    """Find groups that hybrid results or co-location do not allow, and vertices that need more than theirs has."""
    if any(data_set.result_type.is_hybrid for data_set in graph.data_sets):
        for vertex in graph.vertices:
            if not vertex.slot_sharing_group.is_default:
                yield Problem(
                    operator=vertex.name,
                    message=f"its slot sharing group is '{vertex.slot_sharing_group.name}', but the job has hybrid "
                    "results",
                    allowed="the default slot sharing group beside hybrid results",
                )
    yield from _co_location_problems(graph, regions_of)
    yield from _unmet_minimums(stream_graph, graph)


def slot_sharing_groups(graph: JobGraph, regions_of: RegionsOf) -> Mapping[JobVertexId, tuple[str, int | None]]:
    """Return the group of each vertex after chaining; vertices share Flink's slots if theirs are equal.

    A named group is one group. The default group is one group in a streaming job. In a batch job it is one group for
    each logical pipelined region, which `regions_of` returns: they run one after the other and need not fit side by
    side.
    """
    region_of: dict[JobVertexId, int] = {}
    if graph.job_type is JobType.BATCH:
        region_of = {id: number for number, region in enumerate(regions_of(graph)) for id in region.vertex_ids}
    return {
        vertex.id: (
            vertex.slot_sharing_group.name,
            region_of.get(vertex.id, 0) if vertex.slot_sharing_group.is_default else None,
        )
        for vertex in graph.vertices
    }


def _co_location_problems(graph: JobGraph, regions_of: RegionsOf) -> Iterator[Problem]:
    """Find vertices of one co-location group in different slot sharing groups."""
    located = [
        (vertex, name) for vertex in graph.vertices if (name := vertex.head.settings.co_location_group) is not None
    ]
    if not located:
        return
    slots, first = slot_sharing_groups(graph, regions_of), dict[str, JobVertex]()
    for vertex, name in located:
        other = first.setdefault(name, vertex)
        own, others = vertex.slot_sharing_group.name, other.slot_sharing_group.name
        if slots[other.id] != slots[vertex.id]:
            differs = f"'{own}', not '{others}'"
            if own == others:
                differs = "that of another region: in BATCH, each region has its own default group"
            yield Problem(
                operator=vertex.name,
                message=f"its co-location group '{name}' is that of '{other.name}', "
                f"but its slot sharing group is {differs}",
                hint="put both into one slot sharing group with a name, or remove the co-location group of one",
                declared_at=vertex.head.declared_at,
            )


def _unmet_minimums(stream_graph: StreamGraph, graph: JobGraph) -> Iterator[Problem]:
    """Find vertices that need more than an executor of their group has.

    Flink requests slots with the group's profile, and does not check the operators' minimum against it. Such a
    pipeline contradicts itself, and would only fail when it runs out of memory.
    """
    for vertex in graph.vertices:
        group = vertex.slot_sharing_group
        given = group.executor()
        if vertex.min_resources is not None and (over := exceeding(vertex.min_resources, given)):
            known = {name: amount for name, amount in given.items() if amount is not None}
            yield Problem(
                operator=vertex.name,
                message=f"it needs at least {amount_words(over)}{_shares(vertex, stream_graph)}, "
                f"but slot sharing group '{group.name}' gives an executor {amount_words(known)}",
                hint="give the group more, name another group, or split the chain: start_new_chain()",
                declared_at=vertex.head.declared_at,
            )


def _shares(vertex: JobVertex, graph: StreamGraph) -> str:
    """Return the share of each operator of a chain as text; empty if there is only one."""
    nodes = [graph.node[id] for id in vertex.node_ids[-len(vertex.operator_ids) :]]
    if len(nodes) == 1:
        return ""
    return f" ({'; '.join(f'{node.declared_name}: {node.settings.min_resources}' for node in nodes)})"
