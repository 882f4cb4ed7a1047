"""A compiled pipeline for tests: which operators share a task or a chain, which edges are staged, and why.

    plan = CompiledPlan.of(env)
    plan.assert_staged("with_weather", "facts", because="DECLARED")

A failed assertion shows the path between the two operators, each edge, and the tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Self, TypeVar

from graph_compiler.compiler.job_graph.chaining import ChainBreak, chain_breaks
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.environment import StreamExecutionEnvironment
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.errors import GraphCompilerError
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.graphs.operator_names import find_output, find_sink
from graph_compiler.graphs.stream_graph import Staging, StagingReason, StreamEdge, StreamNode
from graph_compiler.identifiers import RegionId, TaskName, did_you_mean, listing
from graph_compiler.testing.hidden_frames import hides_frames

Reason = TypeVar("Reason", bound=StrEnum)
_SINK = "sink "


class UnknownReasonError(GraphCompilerError):
    """A test expects a reason that does not exist: a misspelled `because`."""


@dataclass(frozen=True, slots=True)
class CompiledPlan:
    """A compiled pipeline. Operators are identified by name or uid.

    If a sink has the same name as an operator, `sink late_routes` is the sink.
    """

    compiled: CompiledPipeline

    @classmethod
    @hides_frames
    def of(cls, pipeline: StreamExecutionEnvironment | Pipeline) -> Self:
        """Compile; raises InvalidPipelineError with every problem of the declaration."""
        declared = pipeline if isinstance(pipeline, Pipeline) else pipeline.pipeline()
        return cls(compile_pipeline(declared))

    @property
    def tasks(self) -> tuple[TaskName, ...]:
        """Return the task ids in topological order."""
        return tuple(task.id for task in self.compiled.deployment.tasks)

    @hides_frames
    def task_of(self, operator: str) -> TaskName:
        """Return the id of the task that runs an operator."""
        return self._task(self._node(operator))

    @hides_frames
    def vertex_of(self, operator: str) -> str:
        """Return the name of the job vertex an operator is chained into."""
        return self.compiled.job_graph.vertex_of_node[self._node(operator).id].name

    @hides_frames
    def assert_tasks(self, *tasks: str) -> None:
        """Raise AssertionError unless these are the tasks, in any order."""
        if sorted(tasks) != sorted(self.tasks):
            self._fail(f"the tasks are {listing(self.tasks)}, not {listing(tasks)}")

    @hides_frames
    def assert_same_task(self, first: str, *others: str) -> None:
        """Raise AssertionError unless one task runs all of these operators."""
        for other in others:
            one, task = self.task_of(first), self.task_of(other)
            if one != task:
                words = f"'{first}' is in task {one}, '{other}' in task {task}"
                self._fail(words, self._between(first, other))

    @hides_frames
    def assert_different_tasks(self, first: str, second: str) -> None:
        """Raise AssertionError if one task runs both operators."""
        if self.task_of(first) == self.task_of(second):
            words = f"'{first}' and '{second}' are both in task {self.task_of(first)}"
            self._fail(words, self._between(first, second))

    @hides_frames
    def assert_chained(self, first: str, *others: str) -> None:
        """Raise AssertionError unless all of these operators are in one chain: one job vertex."""
        for other in others:
            if self._vertex(first) != self._vertex(other):
                self._fail(
                    f"'{first}' is in the chain {self.vertex_of(first)}\n"
                    f"  '{other}' is in the chain {self.vertex_of(other)}",
                    self._between(first, other),
                )

    @hides_frames
    def assert_not_chained(self, first: str, second: str, because: str | None = None) -> None:
        """Raise AssertionError if both operators are in one chain; `because` is a ChainBreak between them."""
        reason = _reason(ChainBreak, because)
        between = self._between(first, second)
        if self._vertex(first) == self._vertex(second):
            self._fail(f"'{first}' and '{second}' are in one chain: {self.vertex_of(first)}")
        found = [edge.chain_break for edge in _edges(between) if edge.chain_break is not None]
        if reason is not None and reason not in found:
            names = listing(dict.fromkeys(each.name for each in found))
            self._fail(f"'{first}' and '{second}' are not in one chain because of {names}, not {reason.name}", between)

    @hides_frames
    def assert_staged(self, producer: str, consumer: str, because: str | None = None) -> None:
        """Raise AssertionError unless rows are staged between two operators.

        If an edge connects the two, only that is checked; otherwise, every path between them. `because` is a
        StagingReason.
        """
        reason = _reason(StagingReason, because)
        between = self._between(producer, consumer)
        if not between:
            self._fail(f"no rows go from '{producer}' to '{consumer}'")
        if any(not any(edge.staged for edge in path) for path in between):
            self._fail(f"nothing is staged between '{producer}' and '{consumer}'", between)
        found = [edge.staged.reason for edge in _edges(between) if edge.staged is not None]
        if reason is not None and reason not in found:
            names = listing(dict.fromkeys(each.name for each in found))
            self._fail(
                f"the rows between '{producer}' and '{consumer}' are staged because of {names}, not {reason.name}",
                between,
            )

    @hides_frames
    def assert_not_staged(self, producer: str, consumer: str) -> None:
        """Raise AssertionError if rows are staged on any path between two operators."""
        between = self._between(producer, consumer)
        if not between:
            self._fail(f"no rows go from '{producer}' to '{consumer}'")
        if any(edge.staged for edge in _edges(between)):
            self._fail(f"rows are staged between '{producer}' and '{consumer}'", between)

    def _node(self, name: str) -> StreamNode:
        graph = self.compiled.stream_graph
        if name.startswith(_SINK):
            return find_sink(graph, name.removeprefix(_SINK))
        return find_output(graph, name).node

    def _task(self, node: StreamNode) -> TaskName:
        vertex = self.compiled.job_graph.vertex_of_node[node.id]
        return self.compiled.deployment.task_of_vertex(vertex.id).id

    def _vertex(self, operator: str) -> str:
        return self.compiled.job_graph.vertex_of_node[self._node(operator).id].id

    def _between(self, first: str, second: str) -> tuple[tuple[EdgeFacts, ...], ...]:
        """Return the paths between two operators, in the direction in which there are any."""
        paths = PlanPaths.of(self.compiled)
        one, other = self._node(first).id, self._node(second).id
        return paths.between(one, other) or paths.between(other, one)

    def _fail(self, words: str, paths: Sequence[Sequence[EdgeFacts]] = ()) -> None:
        ways = [f"  {line}" for path in paths for line in path_words(path)]
        tasks = f"  tasks: {listing(self.tasks)}"
        raise AssertionError("\n".join([f"{self.compiled.pipeline.name}: {words}", *ways, tasks]))


def _edges(paths: Sequence[Sequence[EdgeFacts]]) -> Iterator[EdgeFacts]:
    return (edge for path in paths for edge in path)


def _reason(kind: type[Reason], because: str | None) -> Reason | None:
    """Return the reason that a test names; raises UnknownReasonError with the valid names."""
    if because is None:
        return None
    if because in kind.__members__:
        return kind[because]
    hint = did_you_mean(because, kind.__members__)
    raise UnknownReasonError(
        f"there is no {kind.__name__} '{because}'\n  allowed: {listing(kind.__members__)}"
        + (f"\n  hint: {hint}" if hint else "")
    )


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
        + ("" if each.source_task == each.target_task else f" · task {each.source_task} → {each.target_task}")
        for each in path
    ]
