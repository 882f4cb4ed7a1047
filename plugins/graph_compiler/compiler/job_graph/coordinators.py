"""What the driver does for the operators of a chain: hooks, coordinators, splits.

Absorbed sources come first, then the chain's nodes in Flink's order, the head last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from graph_compiler.compiler.job_graph.chaining import OperatorChain
from graph_compiler.declaration.operators import Operator
from graph_compiler.graphs.coordination import (
    InitializeOnMaster,
    InputSplitAssigner,
    OperatorCoordinatorProvider,
    SplitSource,
)
from graph_compiler.graphs.job_graph import JobVertex
from graph_compiler.graphs.stream_graph import StreamGraph
from graph_compiler.identifiers import OperatorId


@dataclass(frozen=True, slots=True, kw_only=True)
class Coordination:
    """The hooks and coordinators of a chain's vertex."""

    on_master: tuple[InitializeOnMaster, ...]
    coordinators: tuple[OperatorCoordinatorProvider, ...]
    split_sources: tuple[SplitSource, ...]


def coordination(chain: OperatorChain, graph: StreamGraph, operator_ids: Mapping[int, OperatorId]) -> Coordination:
    """Collect the hooks and coordinators of a chain's operators."""
    operators = [(operator_ids[id], graph.node[id].operator) for id in (*chain.source_ids, *chain.node_ids)]
    return Coordination(
        on_master=tuple(
            InitializeOnMaster(operator_id=id, hook=hook)
            for id, operator in operators
            for hook in operator.master_hooks()
        ),
        coordinators=tuple(_coordinators(operators)),
        split_sources=tuple(
            SplitSource(operator_id=operator_ids[id], source=source, is_parallel=node.parallelism_configured)
            for id in (*chain.source_ids, *chain.node_ids)
            if (source := (node := graph.node[id]).operator.input_split_source()) is not None
        ),
    )


def input_splits(vertex: JobVertex, parallelism: int) -> tuple[InputSplitAssigner, ...]:
    """Return the splits of the vertex's sources whose connector knows them in advance, as the driver makes them."""
    return tuple(
        InputSplitAssigner(operator_id=one.operator_id, splits=splits, parallelism=parallelism)
        for one in vertex.input_split_sources
        if (splits := one.source.create_input_splits(parallelism if one.is_parallel else 1)) is not None
    )


def _coordinators(operators: list[tuple[OperatorId, Operator]]) -> Iterator[OperatorCoordinatorProvider]:
    for id, operator in operators:
        if (kind := operator.coordinator()) is not None:
            yield OperatorCoordinatorProvider(operator_id=id, kind=kind)
