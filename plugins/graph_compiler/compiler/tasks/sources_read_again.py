"""Sources that two regions of one task read: the second reads them again, instead of a copy that the first stages.

    customer ─────────▶ spent ─▒▶ best       best would wait for a copy of customer, which is a file already:
           └──────────(again)──▶             it reads the files that the task has listed for spent

Only a source whose files are listed once for the whole application: then both regions see the same rows. A copy stays
where something else reads it, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from graph_compiler.declaration.connectors import FileConnector, WhenReadTwice
from graph_compiler.declaration.operators import Source
from graph_compiler.graphs.job_graph import JobEdge, JobGraph
from graph_compiler.graphs.regions import Deployment
from graph_compiler.graphs.stream_graph import StagingReason, StreamGraph
from graph_compiler.identifiers import JobEdgeId


def read_sources_again(stream_graph: StreamGraph, graph: JobGraph, deployment: Deployment) -> JobGraph:
    """Return the graph in which such edges are not staged, and read their source again."""
    readers: dict[int, list[JobEdge]] = {}
    for edge in graph.staged_edges:
        readers.setdefault(edge.stream_edge.source_id, []).append(edge)
    again: set[JobEdgeId] = set()
    for node_id, edges in readers.items():
        if _can_be_listed_once(node_id, edges, stream_graph) and all(
            _is_for_order_only(edge, deployment) for edge in edges
        ):
            again |= {edge.id for edge in edges}
    if not again:
        return graph
    return replace(
        graph,
        edges=tuple(
            replace(edge, staging=None, reads_source_again=True) if edge.id in again else edge for edge in graph.edges
        ),
    )


def _can_be_listed_once(node_id: int, staged: Sequence[JobEdge], graph: StreamGraph) -> bool:
    """Whether a node is a source of listed files or given rows, with a reader in its own region."""
    operator = graph.node[node_id].operator
    if not isinstance(operator, Source) or len(graph.out_edges[node_id]) == len(staged):
        return False
    connector = operator.connector
    if isinstance(connector, FileConnector) and not connector.is_listed_once:
        return False
    return connector.when_read_twice in (WhenReadTwice.LISTED, WhenReadTwice.SAME)


def _is_for_order_only(edge: JobEdge, deployment: Deployment) -> bool:
    """Whether an edge is staged only because two regions of one task run one after the other."""
    return (
        edge.staging is not None
        and edge.staging.reason is StagingReason.WOULD_CYCLE
        and deployment.crosses_regions(edge)
        and not deployment.crosses_tasks(edge)
    )
