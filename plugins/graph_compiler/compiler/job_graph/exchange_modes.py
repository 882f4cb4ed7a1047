"""Decide where the data of an edge between two chains are kept: the result type.

The declaration comes first (BATCH, PIPELINED, HYBRID_*, `.stage(reason)`, `.expensive()`, contracts). Where it leaves
the choice open, `execution.batch-shuffle-mode` decides. AUTO keeps data in memory; `deployment_regions` finds edges
that must be staged for other reasons.
"""

from __future__ import annotations

from collections.abc import Mapping

from graph_compiler.declaration.operators import PreviousVersion
from graph_compiler.declaration.partitioners import ExchangeMode
from graph_compiler.graphs.job_graph import ResultPartitionType
from graph_compiler.graphs.stream_graph import JobType, StagingReason, StreamEdge, StreamGraph
from graph_compiler.options.model import PipelineOptions
from graph_compiler.options.modes import ShuffleMode

_DECLARED: Mapping[ExchangeMode, ResultPartitionType] = {
    ExchangeMode.PIPELINED: ResultPartitionType.PIPELINED_BOUNDED,
    ExchangeMode.BATCH: ResultPartitionType.BLOCKING,
    ExchangeMode.HYBRID_FULL: ResultPartitionType.HYBRID_FULL,
    ExchangeMode.HYBRID_SELECTIVE: ResultPartitionType.HYBRID_SELECTIVE,
}
_UNDECIDED: Mapping[ShuffleMode, ResultPartitionType] = {
    ShuffleMode.AUTO: ResultPartitionType.PIPELINED_BOUNDED,
    ShuffleMode.ALL_EXCHANGES_PIPELINED: ResultPartitionType.PIPELINED_BOUNDED,
    ShuffleMode.ALL_EXCHANGES_BLOCKING: ResultPartitionType.BLOCKING,
    ShuffleMode.ALL_EXCHANGES_HYBRID_FULL: ResultPartitionType.HYBRID_FULL,
    ShuffleMode.ALL_EXCHANGES_HYBRID_SELECTIVE: ResultPartitionType.HYBRID_SELECTIVE,
}


def result_type(
    edge: StreamEdge, graph: StreamGraph, options: PipelineOptions, *, after_end: bool
) -> ResultPartitionType:
    """Return the type of the data set that this edge consumes (Flink's `determineResultPartitionType`).

    `after_end`: the producer's chain has no output before the end of its input.
    """
    if why_declared_staged(edge, graph, options) is not None:
        return ResultPartitionType.BLOCKING
    if edge.exchange_mode is not ExchangeMode.UNDEFINED:
        found = _DECLARED[edge.exchange_mode]
    elif after_end:
        found = ResultPartitionType.BLOCKING
    elif graph.job_type is JobType.STREAMING:
        found = ResultPartitionType.PIPELINED_BOUNDED
    else:
        found = _UNDECIDED[options.shuffle_mode]
    # Every consumer of a broadcast reads all of it, but a selective result keeps a row for only one reader.
    if found is ResultPartitionType.HYBRID_SELECTIVE and edge.partitioner.is_broadcast:
        return ResultPartitionType.HYBRID_FULL
    return found


def why_declared_staged(edge: StreamEdge, graph: StreamGraph, options: PipelineOptions) -> StagingReason | None:
    """Return why the declaration stages this edge; None if it does not.

    BATCH and the previous version of a target always do, other requests unless all edges are pipelined.
    """
    if edge.exchange_mode is ExchangeMode.BATCH:
        return StagingReason.DECLARED
    if isinstance(graph.node[edge.source_id].operator, PreviousVersion):
        return edge.staging_reason or StagingReason.PREVIOUS_VERSION
    is_pipelined = graph.job_type is JobType.STREAMING or options.shuffle_mode is ShuffleMode.ALL_EXCHANGES_PIPELINED
    return None if is_pipelined else edge.staging_reason
