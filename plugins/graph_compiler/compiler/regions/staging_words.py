"""The reason why a job edge is staged, as text: `because you asked: "read by several reports"`."""

from __future__ import annotations

from typing import assert_never

from graph_compiler.compiler.stream_graph.staging_wishes import contracts_before
from graph_compiler.graphs.job_graph import JobEdge, JobGraph
from graph_compiler.graphs.staging_reasons import StagingReason
from graph_compiler.graphs.stream_graph import StreamEdge, StreamGraph
from graph_compiler.identifiers import listing


def pipelining_words(edge: StreamEdge) -> str | None:
    """Return the end of "in memory, …", if the declaration requests that."""
    asked = edge.pipelining_reason
    return None if asked is None else f'because you asked: "{asked}"'


def staging_words(
    edge: JobEdge, reason: StagingReason, stream_graph: StreamGraph, graph: JobGraph
) -> str:
    """Return the end of "staged, …"."""
    source, target = graph.vertex[edge.source_id], graph.vertex[edge.target_id]
    match reason:
        case StagingReason.DECLARED | StagingReason.DECLARED_IN_TASK:
            asked = edge.stream_edge.staging_reason
            words = f'you asked: "{asked}"' if asked else "its exchange mode is BATCH"
        case StagingReason.EXPENSIVE:
            operator = stream_graph.node[edge.stream_edge.source_id].declared_name
            words = f"'{operator}' is expensive: a later failure does not repeat it"
        case StagingReason.CONTRACT:
            words = _contract_words(edge.stream_edge, stream_graph)
        case StagingReason.ALL_EXCHANGES_BLOCKING:
            words = "execution.batch-shuffle-mode is ALL_EXCHANGES_BLOCKING"
        case StagingReason.OUTPUT_ONLY_AFTER_END:
            words = f"'{source.name}' produces no rows until it has read all its input"
        case StagingReason.SLOT_SHARING_GROUP_DIFFERS:
            one, other = source.slot_sharing_group, target.slot_sharing_group
            words = f"slot sharing group '{one}' ends and '{other}' begins"
        case StagingReason.WOULD_CYCLE:
            words = f"'{target.name}' waits for staged rows, which one region with '{source.name}' would stage itself"
        case _:
            assert_never(reason)
    return f"because {words}"


def _contract_words(edge: StreamEdge, graph: StreamGraph) -> str:
    readers = {
        each.target_id
        for each in graph.out_edges[edge.source_id]
        if each.output_tag == edge.output_tag
    }
    contracts = [f"'{contract}'" for contract in contracts_before(edge.source_id, graph)]
    return f"{len(readers)} operators read it, and {listing(contracts)} must hold before any of them starts"
