"""Pipelines that can be compiled but not deployed: Flink's graphs have features that Spark cannot run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from graph_compiler.declaration.dag.airflow_arguments import find_strangers
from graph_compiler.declaration.operators import ChainingStrategy, IterationHead, Sink, UnionByName
from graph_compiler.declaration.operators.combining import INSTEAD_OF_ITERATIONS
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.declaration.resources.slot_sharing_group import PLACES, SlotSharingGroup
from graph_compiler.declaration.transformations import PhysicalTransformation, problem_at
from graph_compiler.deployment.documents.jvm_settings import (
    INITIAL_PARTITIONS,
    SESSION,
    SHUFFLE_PARTITIONS,
    contradictions,
)
from graph_compiler.deployment.targets.execution_target import ExecutionTarget
from graph_compiler.deployment.targets.known_targets import ENTRY_POINTS, target_named, target_names
from graph_compiler.deployment.targets.submit_settings import SubmitSettings, submit_settings
from graph_compiler.errors import ExtensionError, InvalidPipelineError, Problem
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.graphs.stream_graph import JobType, StreamGraph
from graph_compiler.identifiers import did_you_mean, listing
from graph_compiler.options.flink_options import why_without_meaning
from graph_compiler.options.model import PipelineOptions
from graph_compiler.options.spark_settings import spark_settings


def check_deployable(compiled: CompiledPipeline) -> None:
    """Raise InvalidPipelineError for features of a compiled pipeline that Spark cannot run."""
    if reason := _why_not_deployable(compiled):
        raise InvalidPipelineError(compiled.pipeline.name, [reason])
    if not any(isinstance(node.operator, Sink) for node in compiled.stream_graph.nodes):
        problem = Problem(message="it has no sink, so it would produce nothing", hint="end a stream with sink_to(…)")
        raise InvalidPipelineError(compiled.pipeline.name, [problem])
    if unsupported := (*_unread_broadcasts(compiled.stream_graph), *_absorbed_sources(compiled.stream_graph)):
        raise InvalidPipelineError(compiled.pipeline.name, unsupported)
    if repeated := tuple(_sinks_of_one_name(compiled.pipeline)):
        raise InvalidPipelineError(compiled.pipeline.name, repeated)
    profiles = compiled.job_graph.resource_profiles
    settings = spark_settings(compiled.pipeline.config, compiled.deployment_options)
    wrong = (
        *pinned_settings(profiles, settings, SESSION),
        *_too_many_partitions(compiled),
        *target_problems(compiled),
        *find_strangers(compiled.pipeline.airflow, compiled.deployment.slot_sharing_groups),
    )
    if wrong:
        raise InvalidPipelineError(compiled.pipeline.name, wrong)


def _checkpointing(options: PipelineOptions) -> str | None:
    """Return the key of a checkpoint option that is set: Flink's rules use it only in STREAMING graphs."""
    for name, field in PipelineOptions.model_fields.items():
        is_set = getattr(options, name) != field.default
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
    if compiled.stream_graph.job_type is JobType.STREAMING:
        return Problem(
            message="execution.runtime-mode is STREAMING", allowed="BATCH; streaming pipelines cannot be deployed yet"
        )
    if compiled.execution_graph is None:
        undecided = [v.name for v in compiled.job_graph.vertices if v.parallelism is None]
        return Problem(
            message=f"jobmanager.scheduler AdaptiveBatch does not decide the parallelism of '{undecided[0]}'",
            allowed="Default, which leaves it to Spark; or .set_parallelism() of every operator",
        )
    if key := _checkpointing(compiled.options):
        return Problem(message=f"option '{key}' is set, and the job is BATCH", hint=why_without_meaning(key))
    if any(data_set.result_type.is_hybrid for data_set in compiled.job_graph.data_sets):
        return Problem(message="it has hybrid results", allowed="AUTO, ALL_EXCHANGES_BLOCKING, ALL_EXCHANGES_PIPELINED")
    return None


_WHY = "it changes results, so it is the same for every application"


def pinned_settings(
    profiles: Iterable[SlotSharingGroup], options: Mapping[str, str], session: Mapping[str, str]
) -> tuple[Problem, ...]:
    """Return settings of groups and options that `session` or the pins of JVMs contradict: they would be overridden."""
    found = [(f"option '{key}'", "is", key, str(value)) for key, value in options.items()]
    found += [
        (f"slot sharing group '{profile.name}' sets {key}", "to", key, str(value))
        for profile in profiles
        for key, value in profile.conf.items()
    ]
    problems = [
        Problem(message=f"{place} {verb} {value!r}", allowed=f"{session[key]!r}: {_WHY}")
        for place, verb, key, value in found
        if key in session
    ]
    problems += [
        Problem(
            message=f"{place}, which has {word!r}",  # other words of it may be secret
            allowed=f"{allowed!r}: {_WHY}",
            hint=f"remove {word!r}; other options are kept. For local time, write from_utc_timestamp(at, 'ZONE')",
        )
        for place, _, key, value in found
        for word, allowed in contradictions(key, value)
    ]
    return tuple(problems)


def _too_many_partitions(compiled: CompiledPipeline) -> Iterator[Problem]:
    """Find numbers of partitions, of the pipeline and its groups, above the maximum: the driver would lower them."""
    most = compiled.options.max_parallelism
    places = [("option '{}' is", dict(compiled.pipeline.config))]
    for each in compiled.job_graph.resource_profiles:
        conf = {key: str(value) for key, value in each.conf.items()}
        places.append((f"slot sharing group '{each.name}' sets {{}} to", conf))
    for words, settings in places:
        for key, value in settings.items():
            number = value.strip()
            is_counted = key in (SHUFFLE_PARTITIONS, INITIAL_PARTITIONS) and number.isdecimal()
            if most is not None and is_counted and int(number) > most:
                yield Problem(
                    message=f"{words.format(key)} {number!r}",
                    allowed=f"at most {most}: pipeline.max-parallelism",
                    hint="rows are the same for every number: lower it, or raise pipeline.max-parallelism",
                )


_TARGET = PLACES["target"]


def target_problems(compiled: CompiledPipeline) -> Iterator[Problem]:
    """Find every problem of the options, and of each slot sharing group that says more than they do.

    A target that only the deployment's options declare may ignore settings: the same pipeline runs on a laptop and on a
    cluster, and its log says what had no effect.
    """
    own = dict(compiled.pipeline.config)
    says = any(key in own for key in (_TARGET, PLACES["deploy_mode"]))
    origin = "the options" if says else compiled.deployment_options.origin
    yield from _place_problems(submit_settings(compiled, None), origin)
    for profile in compiled.job_graph.resource_profiles:
        where, name = submit_settings(compiled, profile), f"slot sharing group '{profile.name}'"
        if profile.target or profile.deploy_mode:
            yield from _place_problems(where, name)
        if profile.target or _TARGET in own:
            yield from _ignored_settings(profile, where, name)


def _place_problems(where: SubmitSettings, name: str) -> Iterator[Problem]:
    if where.target is None:
        return
    try:
        target = target_named(where.target)
    except ExtensionError as error:
        yield Problem(message=f"{name}: execution target '{where.target}' cannot be used: {error}")
        return
    if target is None:
        yield Problem(
            message=f"{name}: there is no execution target '{where.target}'",
            allowed=listing(target_names()),
            hint=did_you_mean(where.target, target_names())
            or f"install the package that registers it under {ENTRY_POINTS}",
        )
    elif where.deploy_mode is not None and where.deploy_mode not in target.deploy_modes:
        yield Problem(
            message=f"{name}: execution target '{target.name}' does not have deploy mode "
            f"'{where.deploy_mode}': {target.place(where.deploy_mode).refused}",
            allowed=listing(target.deploy_modes),
        )
    elif where.defers and not _may_be_tracked(target, where):
        refused = target.cluster.refused
        why = f"; cluster mode is not possible: {refused}" if refused else ""
        yield Problem(
            message=f"{name}: execution.deferrable is true, but a task of execution target '{target.name}' cannot wait "
            f"in Airflow's triggerer: its driver is a process of the Airflow worker{why}",
            allowed="false, unset, or deploy mode cluster on yarn or kubernetes",
        )


def _may_be_tracked(target: ExecutionTarget, where: SubmitSettings) -> bool:
    modes = target.deploy_modes if where.deploy_mode is None else (where.deploy_mode,)
    return any(target.place(mode).is_tracked for mode in modes)


def _ignored_settings(profile: SlotSharingGroup, where: SubmitSettings, name: str) -> Iterator[Problem]:
    target = _usable(where)
    ignored = target.ignored_settings(profile, where.deploy_mode) if target else ()
    if target is not None and ignored:
        mode = where.deploy_mode or listing(target.deploy_modes)
        yield Problem(
            message=f"{name} sets {listing(ignored)}, which execution target '{target.name}' ignores: "
            f"{target.why_ignored or f'in {mode} mode'}",
            allowed="unset, or another target",
            hint=f"a pipeline for several targets leaves {_TARGET} to the deployment",
        )


def _usable(where: SubmitSettings) -> ExecutionTarget | None:
    """Return the declared target, None if it is refused for another reason."""
    if any(_place_problems(where, "")):
        return None
    return target_named(where.target) if where.target else None
