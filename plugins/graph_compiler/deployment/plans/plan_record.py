"""What a plan computes, operator by operator, as a record for comparing two plans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from graph_compiler.graphs.stream_graph import StreamGraph
from graph_compiler.identifiers import IntermediateDataSetId, listing

VERSION = 1
Name = tuple[str, int]
"""A declared name, and its number among equal names in declaration order: names need not be unique."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedOperator:
    """One operator: `digest` covers its own computation; `inputs` are indexes in `PlanRecord.operators`."""

    name: str
    digest: str
    inputs: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRecord:
    """All operators of a pipeline in declaration order, and which of them produces each staged result.

    `session` are the settings that can change a result, including Spark's version.
    """

    version: int
    plan_id: str
    session: tuple[tuple[str, str], ...]
    operators: tuple[PlannedOperator, ...]
    results: tuple[tuple[IntermediateDataSetId, int], ...]

    @property
    def is_whole(self) -> bool:
        """Whether all its indexes are those of its operators."""
        named = [place for operator in self.operators for place in operator.inputs]
        named += [place for _, place in self.results]
        return all(0 <= place < len(self.operators) for place in named)

    def upstream(self, result_id: IntermediateDataSetId) -> Mapping[Name, str]:
        """Return the operators that compute a result, with their digests; none if the plan has no such result."""
        names = self._names()
        waiting = [place for id, place in self.results if id == result_id]
        found: dict[Name, str] = {}
        while waiting:
            place = waiting.pop()
            if names[place] not in found:
                found[names[place]] = self.operators[place].digest
                waiting += self.operators[place].inputs
        return found

    def _names(self) -> list[Name]:
        seen: Counter[str] = Counter()
        names = []
        for operator in self.operators:
            names.append((operator.name, seen[operator.name]))
            seen[operator.name] += 1
        return names


def plan_record(
    graph: StreamGraph,
    *,
    plan_id: str,
    session: Mapping[str, str],
    digests: Mapping[int, str],
    results: Mapping[IntermediateDataSetId, int],
) -> PlanRecord:
    """Return the record of a plan; `digests` are by node id, as are the nodes that produce `results`."""
    places = {node.id: place for place, node in enumerate(graph.nodes)}
    return PlanRecord(
        version=VERSION,
        plan_id=plan_id,
        session=tuple(sorted(session.items())),
        operators=tuple(
            PlannedOperator(
                name=node.declared_name,
                digest=digests[node.id],
                inputs=tuple(places[edge.source_id] for edge in graph.in_edges[node.id]),
            )
            for node in graph.nodes
        ),
        results=tuple((id, places[node_id]) for id, node_id in results.items()),
    )


def what_changed(
    before: PlanRecord, now: PlanRecord, before_ids: Collection[IntermediateDataSetId], now_id: IntermediateDataSetId
) -> tuple[str, ...]:
    """Return the operators of a result that only one of two plans has, or that differ; changed settings, too."""
    old = {name: digest for id in before_ids for name, digest in before.upstream(id).items()}
    new = now.upstream(now_id)
    kinds: Mapping[str, Callable[[Name], bool]] = {
        "changed": lambda name: name in old and name in new and old[name] != new[name],
        "added": lambda name: name not in old,
        "removed": lambda name: name not in new,
    }
    operators = [
        f"{kind}: {listing(name for name, _ in names)}"
        for kind, is_one in kinds.items()
        if (names := [name for name in sorted({*old, *new}) if is_one(name)])
    ]
    settings = sorted({key for key, _ in set(before.session) ^ set(now.session)})
    return (*operators, *([f"settings: {listing(settings)}"] if settings else []))
