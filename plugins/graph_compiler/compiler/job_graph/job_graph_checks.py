"""Stream graphs and job graphs that Flink refuses, with our messages."""

from __future__ import annotations

from collections.abc import Iterator

from graph_compiler.compiler.checks.operator_checks import repeated_uids
from graph_compiler.compiler.checks.resource_profiles import unmet_minimums
from graph_compiler.compiler.stream_graph.stream_graph_draft import DEFAULT_SLOT_SHARING_GROUP
from graph_compiler.declaration.operators import IterationHead
from graph_compiler.declaration.partitioners import ForwardForConsecutiveHashPartitioner
from graph_compiler.errors import InvalidPipelineError, Problem
from graph_compiler.graphs.job_graph import JobGraph
from graph_compiler.graphs.stream_graph import JobType, StreamGraph
from graph_compiler.options.model import PipelineOptions


def check_stream_graph(graph: StreamGraph, options: PipelineOptions) -> None:
    """Check a stream graph before it becomes a job graph; raises InvalidPipelineError with all problems."""
    nodes = sorted(graph.nodes, key=lambda node: node.id)
    if problems := [
        *repeated_uids((node.settings.uid, node.declared_name, node.declared_at) for node in nodes),
        *_checkpoint_problems(graph, options),
        *_consecutive_hash_problems(graph),
    ]:
        raise InvalidPipelineError(graph.job_name, problems)


def check_job_graph(stream_graph: StreamGraph, graph: JobGraph) -> None:
    """Check for invalid hybrid results and unmet resource needs; raises InvalidPipelineError with all problems."""
    hybrid = [data_set for data_set in graph.data_sets if data_set.result_type.is_hybrid]
    problems = [
        Problem(
            operator=graph.vertex[data_set.producer_id].name,
            message=f"its result is {data_set.result_type}, but the job is STREAMING",
            allowed="hybrid results in BATCH jobs: execution.runtime-mode",
        )
        for data_set in hybrid
        if graph.job_type is JobType.STREAMING
    ]
    problems += [
        Problem(
            operator=vertex.name,
            message=f"its slot sharing group is '{vertex.slot_sharing_group}', but the job has hybrid results",
            allowed="the default slot sharing group beside hybrid results",
        )
        for vertex in graph.vertices
        if hybrid and vertex.slot_sharing_group != DEFAULT_SLOT_SHARING_GROUP
    ]
    problems += unmet_minimums(stream_graph, graph)
    if problems:
        raise InvalidPipelineError(graph.job_name, problems)


def _checkpoint_problems(graph: StreamGraph, options: PipelineOptions) -> Iterator[Problem]:
    if graph.job_type is JobType.BATCH or options.checkpointing_interval is None:
        return
    if not options.force_checkpointing and any(
        isinstance(node.operator, IterationHead) for node in graph.nodes
    ):
        yield Problem(
            message="it has an iteration and takes checkpoints: rows in flight between its ends would be lost",
            hint="unset execution.checkpointing.interval, or accept it with execution.checkpointing.force",
        )
    for edge in graph.edges:
        if options.unaligned_checkpoints and edge.partitioner.is_custom:
            yield Problem(
                operator=graph.node[edge.target_id].declared_name,
                message="its input has a custom partitioner, which unaligned checkpoints do not support",
                hint="unset execution.checkpointing.unaligned.enabled",
            )


def _consecutive_hash_problems(graph: StreamGraph) -> Iterator[Problem]:
    for edge in graph.edges:
        if (
            isinstance(edge.partitioner, ForwardForConsecutiveHashPartitioner)
            and not graph.is_dynamic
        ):
            yield Problem(
                operator=graph.node[edge.target_id].declared_name,
                message="its input is forward in place of a hash, but the graph is not dynamic",
                allowed="a hash; or jobmanager.scheduler: AdaptiveBatch",
            )
