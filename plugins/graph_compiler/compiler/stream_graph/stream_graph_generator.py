"""Pipeline → StreamGraph: translate the transformations, each once, after its inputs.

sink(5) → filter(2) → source(1)       roots are walked in declaration order, their inputs before them
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from graph_compiler.compiler.checks.operator_checks import job_type
from graph_compiler.compiler.checks.resource_checks import declared_groups
from graph_compiler.compiler.stream_graph.stream_graph_draft import StreamGraphDraft
from graph_compiler.compiler.stream_graph.translators import TRANSLATORS
from graph_compiler.declaration.partitioners import ExchangeMode
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.declaration.transformations import FeedbackTransformation, Transformation
from graph_compiler.errors import InvalidPipelineError
from graph_compiler.graphs.stream_graph import JobType, StagingReason, StreamEdge, StreamGraph, StreamNode
from graph_compiler.graphs.topology import post_order
from graph_compiler.options.model import PipelineOptions
from graph_compiler.options.modes import Scheduler


def generate_stream_graph(pipeline: Pipeline, options: PipelineOptions) -> StreamGraph:
    """Translate a validated pipeline; raises InvalidPipelineError with every problem that translation finds."""
    decided = job_type(pipeline, options)
    is_dynamic = decided is JobType.BATCH and options.scheduler is Scheduler.ADAPTIVE_BATCH
    by_id = {transformation.id: transformation for transformation in pipeline.transformations}
    roots = [transformation.id for transformation in pipeline.transformations if transformation.is_root]
    draft = StreamGraphDraft(
        options=options, is_dynamic=is_dynamic, last_id=max(by_id), groups=declared_groups(pipeline)
    )
    _translate(roots, by_id, draft, decided)
    if draft.problems:
        raise InvalidPipelineError(pipeline.name, draft.problems)
    graph = StreamGraph(
        job_name=pipeline.name,
        job_type=decided,
        is_dynamic=is_dynamic,
        nodes=tuple(draft.nodes.values()),
        edges=tuple(draft.edges),
        virtual_nodes=tuple(draft.virtual.values()),
        source_ids=tuple(sorted(draft.source_ids)),
        sink_ids=tuple(sorted(draft.sink_ids)),
    )
    return with_staging_reasons(graph)


def _translate(ids: Sequence[int], by_id: Mapping[int, Transformation], draft: StreamGraphDraft, kind: JobType) -> None:
    """Translate transformations and their inputs, each once.

    The feedback of an iteration is translated immediately after it, even if other consumers were declared earlier:
    Flink translates it with the iteration.
    """
    for id in post_order(ids, lambda id: by_id[id].inputs):
        if id in draft.translated:
            continue
        transformation = by_id[id]
        translator = TRANSLATORS[type(transformation)]
        translate = translator.for_batch if kind is JobType.BATCH else translator.for_streaming
        draft.translated[id] = translate(draft, transformation)
        if isinstance(transformation, FeedbackTransformation):
            head_id = draft.translated[id][-1]
            _translate(transformation.feedback, by_id, draft, kind)
            draft.close_iteration(transformation, head_id, tail_id=head_id - 1)


# StreamGraph → StreamGraph: which edges should be staged for an expensive operator or a contract.
#
#     scored ─┬▒▶ by_day       scored is expensive: a failure after it does not recompute it.
#             └▒▶ by_user      Not staged if its only reader is one sink of files: that would write it twice.
#
#     checked ─▶ cleaned ─┬▒▶ by_day      a violation of the contract in checked fails the task: the first result after
#                         └▒▶ by_user     it with several readers is staged, so that none of them starts before it holds
#
# If an earlier edge is staged, that commits the contract, and the search ends there. An edge with its own declaration
# (`.stage(reason)`, an exchange mode) keeps it. An edge with `.pipelined(reason)` after a contract is marked too, so
# that `deployment_checks` refuses it.


def with_staging_reasons(graph: StreamGraph) -> StreamGraph:
    """Mark outputs of expensive operators, and outputs with several readers after a contract that may fail the task."""
    marked = _marked(graph, _behind_expensive(graph), StagingReason.EXPENSIVE)
    return _marked(marked, _behind_contracts(marked), StagingReason.CONTRACT)


def contracts_before(node_id: int, graph: StreamGraph) -> tuple[str, ...]:
    """Return the contracts that may fail the task and are committed with this operator's output."""
    found: set[int] = set()
    pending = [node_id]
    while pending:
        id = pending.pop()
        if id not in found:
            found.add(id)
            pending += [e.source_id for e in graph.in_edges[id] if not _is_committed(e, graph)]
    contracts = (node.operator.refusing_contract() for node in graph.nodes if node.id in found)
    return tuple(contract for contract in contracts if contract is not None)


def _marked(graph: StreamGraph, ids: Collection[str], reason: StagingReason) -> StreamGraph:
    if not ids:
        return graph
    edges = tuple(
        replace(edge, staging_reason=reason) if edge.id in ids and _is_open(edge, reason) else edge
        for edge in graph.edges
    )
    return replace(graph, edges=edges)


def _is_open(edge: StreamEdge, reason: StagingReason) -> bool:
    is_refused = edge.pipelining_text is not None and reason is StagingReason.CONTRACT
    return edge.staging_reason is None and (is_refused or edge.exchange_mode is ExchangeMode.UNDEFINED)


def _behind_expensive(graph: StreamGraph) -> frozenset[str]:
    return frozenset(
        edge.id
        for node in graph.nodes
        if node.settings.expensive and not _is_copied(node, graph)
        for edge in graph.out_edges[node.id]
    )


def _is_copied(node: StreamNode, graph: StreamGraph) -> bool:
    readers = [graph.node[edge.target_id].operator for edge in graph.out_edges[node.id]]
    return len(readers) == 1 and readers[0].copies_what_it_reads()


def _behind_contracts(graph: StreamGraph) -> frozenset[str]:
    """Follow rows from each contract to the first output with several readers; producers come before consumers."""
    found: set[str] = set()
    uncommitted: set[str] = set()
    for node in graph.nodes:
        is_behind = any(edge.id in uncommitted for edge in graph.in_edges[node.id])
        if not is_behind and node.operator.refusing_contract() is None:
            continue
        for edges in _outputs(graph.out_edges[node.id]):
            if len({edge.target_id for edge in edges}) > 1:
                found.update(edge.id for edge in edges)
            else:
                uncommitted.update(edge.id for edge in edges if not _is_committed(edge, graph))
    return frozenset(found)


def _outputs(edges: Iterable[StreamEdge]) -> Collection[list[StreamEdge]]:
    """Group edges that leave an operator by the output they read: the main one, or a side output."""
    found: dict[str | None, list[StreamEdge]] = {}
    for edge in edges:
        found.setdefault(edge.output_tag, []).append(edge)
    return found.values()


def _is_committed(edge: StreamEdge, graph: StreamGraph) -> bool:
    """Whether the edge is staged in any case."""
    is_declared = edge.staging_reason is not None or edge.exchange_mode is ExchangeMode.BATCH
    return is_declared or graph.changes_group(edge)
