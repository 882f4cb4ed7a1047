"""Match given rows to a pipeline's sources, and decide which sources may be read."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from graph_compiler.declaration.connectors import Range, Values
from graph_compiler.declaration.operators import Source
from graph_compiler.errors import GraphCompilerError
from graph_compiler.graphs.stream_graph import StreamGraph, StreamNode
from graph_compiler.identifiers import did_you_mean, listing


class SourcesError(GraphCompilerError):
    """Rows are given for a source that does not exist, or are missing for sources that need them."""


class SourcePlace(Enum):
    """Where a source's rows come from if the test does not provide them."""

    REAL = "real"


REAL = SourcePlace.REAL
"""Instead of rows: read this source as in production; instead of all sources: read all of them."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows with their columns' types: `Rows("carrier STRING, delay INT", [("AA", 40)])`, or dicts."""

    schema: str
    rows: Sequence[Mapping[str, object] | Sequence[object]] = ()


def match_sources(graph: StreamGraph, named: Collection[str], needed: Collection[int]) -> dict[str, StreamNode]:
    """Return the source of each name, if its rows are needed.

    Raises SourcesError for a name that no source has, and for sources that are needed but not named.
    """
    sources = [node for node in graph.nodes if isinstance(node.operator, Source)]
    matched = {name: _source(graph, sources, name) for name in named}
    chosen: dict[int, str] = {}
    for name, node in matched.items():
        if (other := chosen.setdefault(node.id, name)) != name:
            raise SourcesError(
                f"pipeline '{graph.job_name}': '{other}' and '{name}' are one source\n  allowed: rows once"
            )
    left = [node for node in sources if node.id in needed and node.id not in chosen and not _is_declared_here(node)]
    if left:
        names = listing(f"'{node.declared_name}'" for node in left)
        example = f'{{"{left[0].declared_name}": [{{…}}]}}'
        raise SourcesError(
            f"pipeline '{graph.job_name}': {names} {'was' if len(left) == 1 else 'were'} given no rows\n"
            f"  allowed: sources={example}; REAL instead of rows reads a source as in production\n"
            f"  declared at {listing(str(node.declared_at) for node in left)}"
        )
    return {name: node for name, node in matched.items() if node.id in needed}


def _source(graph: StreamGraph, sources: Sequence[StreamNode], name: str) -> StreamNode:
    found = [node for node in sources if name in (node.declared_name, node.settings.uid)]
    if len(found) == 1:
        return found[0]
    known = [node.declared_name for node in sources]
    if found:
        raise SourcesError(
            f"pipeline '{graph.job_name}' has {len(found)} sources called '{name}'\n  hint: give each a uid"
        )
    hint = did_you_mean(name, known)
    raise SourcesError(
        f"pipeline '{graph.job_name}' has no source '{name}'\n  allowed: {listing(known)}"
        + (f"\n  hint: {hint}" if hint else "")
    )


def _is_declared_here(node: StreamNode) -> bool:
    """Whether a source's rows are in the declaration, so that nothing external is read."""
    return isinstance(node.operator, Source) and isinstance(node.operator.connector, Range | Values)
