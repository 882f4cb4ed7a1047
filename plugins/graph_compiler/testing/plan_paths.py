"""The paths of rows from one operator to another, and whether each edge is chained, in memory, or staged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from graph_compiler.compiler.job_graph.chaining import ChainBreak, chain_breaks
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.graphs.staging_reasons import Staging
from graph_compiler.graphs.stream_graph import StreamEdge
from graph_compiler.identifiers import RegionId

MOST_PATHS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeFacts:
    """An edge with the names and tasks of its ends; `chain_break` is None in a chain, `staged` is None in memory."""

    edge: StreamEdge
    source: str
    target: str
    source_task: RegionId
    target_task: RegionId
    chain_break: ChainBreak | None
    staged: Staging | None

    @property
    def words(self) -> str:
        """Return how rows pass along the edge."""
        label, broken = self.edge.partitioner.label, self.chain_break
        if self.staged is not None:
            return f"{label} · staged {self.staged.explanation} ({self.staged.reason.name})"
        if broken is None:
            return "chained"
        return f"{label} · in memory; a new vertex, because {broken.value} ({broken.name})"


@dataclass(frozen=True, slots=True)
class PlanPaths:
    """The edges of a compiled pipeline, by their producer."""

    out_edges: Mapping[int, Sequence[EdgeFacts]]

    @classmethod
    def of(cls, compiled: CompiledPipeline) -> Self:
        """Collect the edges of a compiled pipeline."""
        graph = compiled.stream_graph
        breaks = chain_breaks(graph, compiled.options)
        staged = {edge.stream_edge.id: edge.staging for edge in compiled.job_graph.edges}
        tasks = {
            id: compiled.deployment.region_of_vertex[vertex.id].id
            for id, vertex in compiled.job_graph.vertex_of_node.items()
        }
        return cls(
            {
                id: [
                    EdgeFacts(
                        edge=edge,
                        source=graph.node[id].declared_name,
                        target=graph.node[edge.target_id].declared_name,
                        source_task=tasks[id],
                        target_task=tasks[edge.target_id],
                        chain_break=breaks[edge.id],
                        staged=staged.get(edge.id),
                    )
                    for edge in edges
                ]
                for id, edges in graph.out_edges.items()
            }
        )

    def between(self, source: int, target: int) -> tuple[tuple[EdgeFacts, ...], ...]:
        """Return the paths from one operator to another: the edges between the two, otherwise the first 20 paths."""
        direct = [each for each in self.out_edges[source] if each.edge.target_id == target]
        if direct:
            return tuple((each,) for each in direct)
        found = []
        for path in self._paths(source, target):
            found.append(path)
            if len(found) == MOST_PATHS:
                break
        return tuple(found)

    def _paths(self, source: int, target: int) -> Iterator[tuple[EdgeFacts, ...]]:
        leads = self._leading_to(target)
        pending: list[tuple[int, tuple[EdgeFacts, ...]]] = [(source, ())]
        while pending:
            id, path = pending.pop()
            if id == target and path:
                yield path
                continue
            pending += [
                (each.edge.target_id, (*path, each))
                for each in reversed(self.out_edges[id])
                if each.edge.target_id in leads
            ]

    def _leading_to(self, target: int) -> set[int]:
        """Return an operator and everything upstream of it."""
        sources: dict[int, list[int]] = {}
        for id, edges in self.out_edges.items():
            for each in edges:
                sources.setdefault(each.edge.target_id, []).append(id)
        found, pending = {target}, [target]
        while pending:
            for id in sources.get(pending.pop(), ()):
                if id not in found:
                    found.add(id)
                    pending.append(id)
        return found


def path_words(path: Sequence[EdgeFacts]) -> list[str]:
    """Return a path as text, one edge per line, with the task if it changes."""
    return [
        f"{each.source} → {each.target}: {each.words}"
        + (
            ""
            if each.source_task == each.target_task
            else f" · task {each.source_task} → {each.target_task}"
        )
        for each in path
    ]
