"""The graph of one application: the region's operators and the edges between them that are not staged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from typing import TypeAlias

from graph_compiler.declaration.operators import Sink
from graph_compiler.declaration.operators.contracts import Reader, why_counted_apart
from graph_compiler.deployment.documents.descriptor import (
    InputDescriptor,
    OperatorDescriptor,
    RegionDescriptor,
    VertexDescriptor,
)
from graph_compiler.identifiers import JobVertexId

Output: TypeAlias = tuple[int, str | None]
"""A node and the tag of its output; None for the main one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorGraph:
    """The operators of a region by node id, in topological order, and the vertex of each."""

    operators: Mapping[int, OperatorDescriptor]
    vertices: Mapping[int, VertexDescriptor]

    @classmethod
    def of(cls, region: RegionDescriptor) -> OperatorGraph:
        """Build the graph of a region."""
        pairs = [(operator, vertex) for vertex in region.vertices for operator in vertex.operators]
        return cls(
            operators={operator.node_id: operator for operator, _ in pairs},
            vertices={operator.node_id: vertex for operator, vertex in pairs},
        )

    def vertex_id(self, operator: OperatorDescriptor) -> JobVertexId:
        """Return the id of the vertex that an operator is chained into."""
        return self.vertices[operator.node_id].vertex_id

    def vertex_name(self, operator: OperatorDescriptor) -> str:
        """Return the name of the vertex that an operator is chained into."""
        return self.vertices[operator.node_id].name

    def name(self, edge: InputDescriptor) -> str | None:
        """Return the name of an edge's producer; None if it runs in another application."""
        if edge.staged is not None:
            return None
        name = self.operators[edge.node_id].name
        return name if edge.output_tag is None else f"{name}.{edge.output_tag}"

    def outputs_read_by(self, operator: OperatorDescriptor) -> frozenset[Output]:
        """Return all outputs that an operator reads, directly or through its inputs."""
        found: set[Output] = set()
        waiting = [operator]
        while waiting:
            for edge in waiting.pop().inputs:
                output = (edge.node_id, edge.output_tag)
                if edge.staged is None and output not in found:
                    found.add(output)
                    waiting.append(self.operators[edge.node_id])
        return frozenset(found)

    def upstream(self, node_id: int) -> frozenset[int]:
        """Return the nodes that an operator reads, directly or not, except itself."""
        outputs = self.outputs_read_by(self.operators[node_id])
        return frozenset(found for found, _ in outputs)

    def counted_apart(self, results: Set[Output]) -> frozenset[int]:
        """Return the contracts that jobs of their own count: they read their input once more."""

        def readers(node_id: int) -> Iterator[Reader]:
            for operator in self.operators.values():
                places = Counter(edge.type_number for edge in operator.inputs)
                for edge in operator.inputs:
                    if edge.node_id == node_id and edge.staged is None:
                        is_union = places[edge.type_number] > 1
                        yield Reader(operator.node_id, operator.name, operator.operator, edge.type_number, is_union)
            yield from (Reader(node_id, "", None) for id, _ in results if id == node_id)

        found = self.operators.items()
        return frozenset(id for id, each in found if why_counted_apart(each.operator, id, readers) is not None)

    def times_read(self, node_id: int, staged: Set[Output], apart: Set[int] = frozenset()) -> int:
        """Return how often the region computes a node's output: a staged output is computed once, then read back.

        `apart` are the contracts that jobs of their own count.
        """
        readers = Counter(
            ((edge.node_id, edge.output_tag), operator.node_id)
            for operator in self.operators.values()
            for edge in operator.inputs
            if edge.staged is None and edge.node_id == node_id
        )
        times = sum(1 for output in staged if output[0] == node_id)
        for (output, reader), edges in readers.items():
            if output not in staged:
                is_last = isinstance(self.operators[reader].operator, Sink)
                times += edges * (1 if is_last else self.times_read(reader, staged, apart) + (reader in apart))
        return times

    def chain_of(self, operator: OperatorDescriptor) -> tuple[OperatorDescriptor, ...]:
        """Return an operator and everything upstream of it in this application, in topological order."""
        wanted = {*self.upstream(operator.node_id), operator.node_id}
        return tuple(found for node_id, found in self.operators.items() if node_id in wanted)
