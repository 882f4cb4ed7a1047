"""The resources of a pipeline's slot sharing groups, and whether they are enough for their chains."""

from __future__ import annotations

from collections.abc import Iterator

from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.declaration.resources.resource_spec import amount_words, exceeding
from graph_compiler.declaration.resources.slot_sharing_group import SlotSharingGroup
from graph_compiler.errors import Problem
from graph_compiler.graphs.job_graph import JobGraph, JobVertex
from graph_compiler.graphs.stream_graph import StreamGraph


def profiles_in(pipeline: Pipeline) -> tuple[SlotSharingGroup, ...]:
    """Return each group that is declared with more than a name, in declaration order; the pipeline has been checked."""
    declared = (operator.settings.resource_profile for operator in pipeline.operators)
    by_name = {group.name: group for group in declared if group is not None and not group.is_only_a_name}
    return tuple(by_name.values())


def unmet_minimums(stream_graph: StreamGraph, graph: JobGraph) -> Iterator[Problem]:
    """Find vertices that need more than an executor of their group has.

    Flink requests slots with the group's profile, and does not check the operators' minimum against it. Such a
    pipeline contradicts itself, and would only fail when it runs out of memory.
    """
    for vertex in graph.vertices:
        group = graph.resource_profile.get(vertex.slot_sharing_group)
        if group is None or vertex.min_resources is None:
            continue
        given = group.executor()
        if over := exceeding(vertex.min_resources, given):
            known = {name: amount for name, amount in given.items() if amount is not None}
            yield Problem(
                operator=vertex.name,
                message=f"it needs at least {amount_words(over)}{_shares(vertex, stream_graph)}, "
                f"but slot sharing group '{group.name}' gives an executor {amount_words(known)}",
                hint="give the group more, name another group, or split the chain: start_new_chain()",
                declared_at=stream_graph.node[vertex.node_ids[-len(vertex.operator_ids)]].declared_at,
            )


def _shares(vertex: JobVertex, graph: StreamGraph) -> str:
    """Return the share of each operator of a chain as text; empty if there is only one."""
    nodes = [graph.node[id] for id in vertex.node_ids[-len(vertex.operator_ids) :]]
    if len(nodes) == 1:
        return ""
    return f" ({'; '.join(f'{node.declared_name}: {node.settings.min_resources}' for node in nodes)})"
