"""Decide for an edge between two chains where its data lives: the result type.

What the declaration says holds (BATCH, PIPELINED, `.stage(reason)`); what it leaves open goes by
`execution.batch-shuffle-mode`. AUTO leaves it in memory: what has to be staged for other reasons, `deployment_regions`
finds.
"""

from __future__ import annotations

from graph_compiler.declaration.options import PipelineOptions, RuntimeMode, ShuffleMode
from graph_compiler.declaration.partitioners import ExchangeMode
from graph_compiler.graphs.job_graph import ResultPartitionType
from graph_compiler.graphs.stream_graph import StreamEdge


def result_type(edge: StreamEdge, options: PipelineOptions) -> ResultPartitionType:
    """Give the type of the data set this edge consumes (Flink's `determineResultPartitionType`)."""
    if is_declared_staged(edge, options):
        return ResultPartitionType.BLOCKING
    if edge.exchange_mode is ExchangeMode.UNDEFINED and all_exchanges_block(options):
        return ResultPartitionType.BLOCKING
    return ResultPartitionType.PIPELINED_BOUNDED


def is_declared_staged(edge: StreamEdge, options: PipelineOptions) -> bool:
    """Say whether the declaration asks to stage this edge: BATCH always, `.stage(reason)` unless all is pipelined."""
    asked_for = edge.staging_reason is not None and options.runtime_mode is RuntimeMode.BATCH
    return edge.exchange_mode is ExchangeMode.BATCH or (
        asked_for and options.shuffle_mode is not ShuffleMode.ALL_EXCHANGES_PIPELINED
    )


def all_exchanges_block(options: PipelineOptions) -> bool:
    """Say whether undecided exchanges of this job are staged; a streaming job never waits for the end of its input."""
    return (
        options.runtime_mode is RuntimeMode.BATCH
        and options.shuffle_mode is ShuffleMode.ALL_EXCHANGES_BLOCKING
    )
