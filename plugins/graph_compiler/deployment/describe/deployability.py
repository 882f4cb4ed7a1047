"""Pipelines that can be compiled but not deployed: Flink's graphs have features that Spark cannot run."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from graph_compiler.declaration.dag.airflow_arguments import find_strangers
from graph_compiler.declaration.operators import (
    ChainingStrategy,
    ContractOperator,
    IterationHead,
    KeyedProcess,
    Sink,
    Source,
    UnionByName,
)
from graph_compiler.declaration.operators.combining import INSTEAD_OF_ITERATIONS
from graph_compiler.declaration.operators.process_functions import StateBackendType
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.declaration.transformations import PhysicalTransformation, problem_at
from graph_compiler.declaration.windows import Flush
from graph_compiler.deployment.describe.airflow_arguments import misplaced_rules
from graph_compiler.deployment.describe.airflow_versions import missing_abilities
from graph_compiler.deployment.targets.submit_settings import submit_problems
from graph_compiler.errors import InvalidPipelineError, Problem
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.graphs.stream_graph import JobType, StreamGraph
from graph_compiler.graphs.stream_queries import StreamQueries
from graph_compiler.options.durations import format_duration
from graph_compiler.options.flink_options import why_without_meaning
from graph_compiler.options.model import PipelineOptions
from graph_compiler.tested_versions import SPARK, installed_version, minor_of

_INTERVAL = "checkpointing_interval"


def check_deployable(compiled: CompiledPipeline) -> None:
    """Raise InvalidPipelineError for features of a compiled pipeline that Spark cannot run."""
    if wrong := tuple(StreamQueries(compiled.stream_graph).problems()):
        raise InvalidPipelineError(compiled.pipeline.name, wrong)
    if reason := _why_not_deployable(compiled):
        raise InvalidPipelineError(compiled.pipeline.name, [reason])
    if not any(isinstance(node.operator, Sink | ContractOperator) for node in compiled.stream_graph.nodes):
        hint = "end a stream with sink_to(…), or check it with expect(…) and the like"
        problem = Problem(message="it has no sink, so it would produce nothing", hint=hint)
        raise InvalidPipelineError(compiled.pipeline.name, [problem])
    if unsupported := (*_unread_broadcasts(compiled.stream_graph), *_absorbed_sources(compiled.stream_graph)):
        raise InvalidPipelineError(compiled.pipeline.name, unsupported)
    if repeated := tuple(_sinks_of_one_name(compiled.pipeline)):
        raise InvalidPipelineError(compiled.pipeline.name, repeated)
    others = (
        *submit_problems(compiled),
        *find_strangers(compiled.pipeline.airflow, compiled.deployment.slot_sharing_groups),
        *misplaced_rules(compiled, compiled.pipeline.airflow),
        *missing_abilities(compiled.options, compiled.pipeline.airflow),
        *_unsupported_formats(compiled.pipeline),
        *_misplaced_savepoints(compiled),
        *_misplaced_continuity(compiled),
        *_misplaced_flush(compiled),
        *_misplaced_backend(compiled),
    )
    if others:
        raise InvalidPipelineError(compiled.pipeline.name, others)


def _unsupported_formats(pipeline: Pipeline) -> Iterator[Problem]:
    """Find tables of a format that does not run on the Spark that a pipeline is compiled for."""
    formats = {
        each: format
        for each in pipeline.operators
        if isinstance(each.operator, Source | Sink) and (format := each.operator.connector.table_format) is not None
    }
    found = installed_version(SPARK.package) if formats else None  # to look for a package takes milliseconds
    if found is None:
        return
    for each, format in formats.items():
        if why := format.why_not_with(minor_of(found)):
            yield problem_at(each, why, allowed=format.allowed, hint=format.hint(*formats.values()))


def _misplaced_savepoints(compiled: CompiledPipeline) -> Iterator[Problem]:
    """Find the option of a savepoint in a pipeline that has no stream, or several."""
    if compiled.options.savepoint_path is None:
        return
    unbounded, vertices = StreamQueries(compiled.stream_graph).unbounded, compiled.job_graph.vertex_of_node
    streams = {compiled.deployment.region_of_vertex[vertices[id].id].id for id in unbounded}
    if len(streams) != 1:
        has = "none of its sources is unbounded" if not streams else f"it has {len(streams)} streams"
        yield Problem(
            message=f"option 'execution.savepoint.path' is set, and {has}",
            allowed="a pipeline with one stream, whose savepoint it is",
        )


def _misplaced_continuity(compiled: CompiledPipeline) -> Iterator[Problem]:
    """Find options of a continuous stream in a pipeline that is none."""
    options = compiled.options
    if not options.continuous:
        if options.max_run_time:
            yield Problem(
                message="option 'execution.max-run-time' is set, and a run ends when what has arrived is published",
                allowed="with execution.continuous: true",
                hint="leave it out; build_dag takes execution_timeout for tasks that may take too long",
            )
        return
    if not StreamQueries(compiled.stream_graph).unbounded:
        yield Problem(
            message="option 'execution.continuous' is set, and none of its sources is unbounded",
            allowed="a pipeline that is one stream",
        )
    elif options.max_run_time and options.max_run_time < timedelta(milliseconds=options.interval_ms):
        yield Problem(
            message=f"option 'execution.max-run-time' is {format_duration(options.max_run_time)}, and a batch begins "
            f"every {options.interval_ms:,} ms",
            allowed="a time in which several batches begin",
            hint="without execution.continuous, a run publishes what has arrived, and ends",
        )
    elif len(compiled.deployment.regions) > 1:
        yield Problem(
            message=f"option 'execution.continuous' is set, and the pipeline has {len(compiled.deployment.regions)} "
            "deployment regions: a task that does not end holds up the others",
            allowed="a pipeline that is one stream",
            hint="give each stream, and each batch job, a pipeline of its own",
        )


def _misplaced_flush(compiled: CompiledPipeline) -> Iterator[Problem]:
    """Find the option that completes windows in a pipeline in which none waits, or which has no end of a run."""
    flush, queries = compiled.options.flush, StreamQueries(compiled.stream_graph)
    if flush is Flush.NONE:
        return
    if not queries.waits(queries.unbounded):
        yield Problem(
            message=f"option 'execution.flush' is {flush}, and no operator waits for the watermark of a stream",
            allowed="a stream with assign_timestamps_and_watermarks, and windows or other state behind it",
            hint="leave it out",
        )
    elif compiled.options.continuous:
        yield Problem(
            message=f"option 'execution.flush' is {flush}, and 'execution.continuous' is set",
            allowed="one of the two",
            hint="a flush at the end of a run would make rows late that arrive behind it",
        )


def _misplaced_backend(compiled: CompiledPipeline) -> Iterator[Problem]:
    """Find the option that says where states are in a pipeline without them, or with those that cannot be there."""
    backend, queries = compiled.options.state_backend, StreamQueries(compiled.stream_graph)
    if backend is None:
        return
    if not queries.stateful:
        yield Problem(
            message=f"option 'state.backend.type' is {backend}, and no operator keeps state on a stream",
            allowed="an unbounded source, with totals, windows or other state behind it",
            hint="leave it out: what is staged for retries is in the staging root",
        )
    elif backend is StateBackendType.HASHMAP:
        functions = {node.id for node in queries.stateful if isinstance(node.operator, KeyedProcess)}
        for each in compiled.pipeline.operators:
            if each.id in functions:
                message = "option 'state.backend.type' is hashmap, and Spark keeps states of functions in RocksDB"
                yield problem_at(each, message, allowed="rocksdb, or no option")


def _checkpointing(options: PipelineOptions) -> str | None:
    """Return the key of a checkpoint option that is set."""
    for name, field in PipelineOptions.model_fields.items():
        is_set = getattr(options, name) != field.default and not (options.continuous and name == _INTERVAL)
        if is_set and str(field.alias).startswith("execution.checkpointing."):
            return field.alias
    return None


def _unread_broadcasts(graph: StreamGraph) -> Iterator[Problem]:
    """Find operators whose rows Flink would repeat once for every subtask; Spark sends each row once.

    That is so if all inputs are broadcast. An input of which a part is broadcast is refused, too: Flink repeats only
    these rows, and Spark's hint does not reach through the union.
    """
    for node in graph.nodes:
        edges = graph.in_edges[node.id]
        as_one = isinstance(node.operator, UnionByName)
        inputs: dict[int, list[bool]] = {}
        for edge in edges:
            inputs.setdefault(0 if as_one else edge.type_number, []).append(edge.partitioner.is_broadcast)
        if not any(map(any, inputs.values())):
            continue
        if len(inputs) == 1:
            message = "it reads broadcast rows, but no rows to join them with"
            hint = (
                "leave out broadcast(): Flink would repeat each row in every subtask; "
                "to repeat rows on purpose, join them with how='cross'"
            )
        elif all(map(any, inputs.values())):
            message = "all its inputs are broadcast"
            hint = "leave out one broadcast(): Flink would repeat each result in every subtask"
        elif any(any(flags) and not all(flags) for flags in inputs.values()):
            message = "a part of one of its inputs is broadcast"
            hint = "broadcast the union, a.union(b).broadcast(), or leave out broadcast()"
        else:
            continue
        yield Problem(
            operator=node.declared_name,
            message=message,
            allowed="broadcast() of one side of a join, or of an input of a function or query of several streams",
            hint=hint,
            declared_at=node.declared_at,
        )


def _absorbed_sources(graph: StreamGraph) -> Iterator[Problem]:
    """Find operators, of other packages, that ask for Flink's source chaining."""
    for node in graph.nodes:
        if node.chaining_strategy is ChainingStrategy.HEAD_WITH_SOURCES:
            yield Problem(
                operator=node.declared_name,
                message="its chaining_strategy is HEAD_WITH_SOURCES: Spark's driver does not chain sources with it",
                allowed="ALWAYS, NEVER, HEAD",
                declared_at=node.declared_at,
            )


def _sinks_of_one_name(pipeline: Pipeline) -> Iterator[Problem]:
    """Find sinks with the same name as an earlier sink; sinks without a name share that of their kind."""
    first: dict[str, PhysicalTransformation] = {}
    for sink in pipeline.operators:
        if not isinstance(sink.operator, Sink) or sink.name == sink.operator.default_name:
            continue
        if (other := first.setdefault(sink.name, sink)) is not sink:
            place = f" ({other.declared_at})" if other.declared_at else ""
            yield problem_at(
                sink,
                f"an earlier sink has the same name{place}",
                hint='a run shows its outputs by the names of sinks: give each its own, .name("…")',
            )


def _why_not_deployable(compiled: CompiledPipeline) -> Problem | None:
    """Return the feature of Flink's graphs that Spark cannot run, None if there is none."""
    for node in compiled.stream_graph.nodes:
        if isinstance(node.operator, IterationHead):
            return Problem(
                operator=node.declared_name,
                message="rows flow back into it, and Spark has no such loop",
                hint=INSTEAD_OF_ITERATIONS,
                declared_at=node.declared_at,
            )
    if compiled.execution_graph is None:
        undecided = [v.name for v in compiled.job_graph.vertices if v.parallelism is None]
        return Problem(
            message=f"jobmanager.scheduler AdaptiveBatch does not decide the parallelism of '{undecided[0]}'",
            allowed="Default, which leaves it to Spark; or .set_parallelism() of every operator",
        )
    if key := _checkpointing(compiled.options):
        if compiled.stream_graph.job_type is JobType.STREAMING:
            is_interval = key == PipelineOptions.model_fields[_INTERVAL].alias
            return Problem(
                message=f"option '{key}' is set, and a run reads what is new in batches, each of which is a checkpoint",
                hint="leave it out" + (", or set execution.continuous: true" if is_interval else ""),
            )
        return Problem(message=f"option '{key}' is set, and the job is BATCH", hint=why_without_meaning(key))
    if any(data_set.result_type.is_hybrid for data_set in compiled.job_graph.data_sets):
        return Problem(message="it has hybrid results", allowed="AUTO, ALL_EXCHANGES_BLOCKING, ALL_EXCHANGES_PIPELINED")
    return None
