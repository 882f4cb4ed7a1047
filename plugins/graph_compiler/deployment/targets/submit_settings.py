"""Where the application of a slot sharing group is submitted, with which of Spark's settings, and why it is refused.

The first that says something wins: the group, the pipeline's options, the deployment's. The rest is left to the Airflow
connection.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from graph_compiler.declaration.resources.application import DeployMode
from graph_compiler.declaration.resources.slot_sharing_group import PLACES, SlotSharingGroup
from graph_compiler.deployment.documents.jvm_settings import (
    INITIAL_PARTITIONS,
    MAX_PARALLELISM,
    SESSION,
    SHUFFLE_PARTITIONS,
    contradictions,
)
from graph_compiler.deployment.targets.execution_target import ExecutionTarget
from graph_compiler.deployment.targets.known_targets import ENTRY_POINTS, target_named, target_names
from graph_compiler.errors import ExtensionError, Problem
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.identifiers import did_you_mean, listing
from graph_compiler.options.flink_options import with_flink_settings
from graph_compiler.options.model import PipelineOptions
from graph_compiler.options.spark_settings import spark_settings


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitSettings:
    """What is declared, None if nothing is; `conf` is for all groups, and the settings of `profile` override it."""

    profile: SlotSharingGroup | None = None
    target: str | None = None
    deploy_mode: DeployMode | None = None
    conn_id: str | None = None
    conf: tuple[tuple[str, str], ...] = ()
    tunes_driver: bool = True
    """Whether settings are added with which the driver's JVM starts faster."""
    makes_archives: bool = True
    """Whether a missing class archive is made in the background."""
    defers: bool | None = None
    """Whether tasks wait in Airflow's triggerer; None is what Airflow's own setting says."""


UNDECLARED = SubmitSettings()
_DEFAULT_PARALLELISM = str(PipelineOptions.model_fields["parallelism"].alias)


def submit_settings(compiled: CompiledPipeline, profile: SlotSharingGroup | None) -> SubmitSettings:
    """Return what a valid pipeline declares for the tasks of a group, None for those of a group without settings."""
    options, group = compiled.options, profile or SlotSharingGroup("")
    mode = group.deploy_mode or options.deploy_mode
    return SubmitSettings(
        profile=profile,
        target=group.target or options.execution_target,
        deploy_mode=DeployMode(mode) if mode else None,
        conn_id=group.conn_id or options.conn_id,
        conf=tuple(pipeline_settings(compiled).items()),
        tunes_driver=options.driver_tuning,
        makes_archives=options.class_archives,
        defers=options.deferrable,
    )


def pipeline_settings(compiled: CompiledPipeline) -> dict[str, str]:
    """Return Spark's settings for all applications of a pipeline."""
    own = spark_settings(compiled.pipeline.config, compiled.deployment_options)
    return with_flink_settings({**own, **_parallelism_settings(compiled)}, compiled.options)


def _parallelism_settings(compiled: CompiledPipeline) -> dict[str, str]:
    """Return the settings of Spark for `parallelism.default` and `pipeline.max-parallelism` (decision 8).

    Of the pipeline's options, then of the deployment's, the first that say something decide. Spark's own settings win
    over `parallelism.default` beside them.
    """
    deployment = dict(compiled.deployment_options.values)
    found: dict[str, str] = {}
    for options in (dict(compiled.pipeline.config), deployment):
        if SHUFFLE_PARTITIONS in options or INITIAL_PARTITIONS in options:
            break
        if _DEFAULT_PARALLELISM in options:
            # Set by the deployment, the initial number would win over the pipeline's option.
            keys = [SHUFFLE_PARTITIONS, *({INITIAL_PARTITIONS} & deployment.keys())]
            found = dict.fromkeys(keys, str(compiled.options.parallelism))
            break
    most = compiled.options.max_parallelism
    return found if most is None else {**found, MAX_PARALLELISM: str(most)}


_WHY = "it changes results, so it is the same for every application"
_TARGET = PLACES["target"]


def submit_problems(compiled: CompiledPipeline) -> Iterator[Problem]:
    """Find every problem of what options and groups set: pinned values, partitions, targets, and what these ignore."""
    yield from _overridden_settings(compiled)
    yield from _too_many_partitions(compiled)
    yield from _target_problems(compiled)


def _overridden_settings(compiled: CompiledPipeline) -> Iterator[Problem]:
    """Find settings of groups and options that the session or the pins of JVMs contradict: they would be overridden."""
    options = spark_settings(compiled.pipeline.config, compiled.deployment_options)
    found = [(f"option '{key}'", "is", key, str(value)) for key, value in options.items()]
    found += [
        (f"slot sharing group '{profile.name}' sets {key}", "to", key, str(value))
        for profile in compiled.job_graph.resource_profiles
        for key, value in profile.conf.items()
    ]
    for place, verb, key, value in found:
        if key in SESSION:
            yield Problem(message=f"{place} {verb} {value!r}", allowed=f"{SESSION[key]!r}: {_WHY}")
    for place, _, key, value in found:
        for word, allowed in contradictions(key, value):
            yield Problem(
                message=f"{place}, which has {word!r}",  # other words of it may be secret
                allowed=f"{allowed!r}: {_WHY}",
                hint=f"remove {word!r}; other options are kept. For local time, write from_utc_timestamp(at, 'ZONE')",
            )


def _too_many_partitions(compiled: CompiledPipeline) -> Iterator[Problem]:
    """Find numbers of partitions, of the pipeline and its groups, above the maximum: the driver would lower them."""
    most = compiled.options.max_parallelism
    found = [(f"option '{key}' is", key, value) for key, value in compiled.pipeline.config]
    found += [
        (f"slot sharing group '{profile.name}' sets {key} to", key, str(value))
        for profile in compiled.job_graph.resource_profiles
        for key, value in profile.conf.items()
    ]
    for words, key, value in found:
        number = value.strip()
        is_counted = key in (SHUFFLE_PARTITIONS, INITIAL_PARTITIONS) and number.isdecimal()
        if most is not None and is_counted and int(number) > most:
            yield Problem(
                message=f"{words} {number!r}",
                allowed=f"at most {most}: pipeline.max-parallelism",
                hint="lower it, or raise pipeline.max-parallelism",
            )


def _target_problems(compiled: CompiledPipeline) -> Iterator[Problem]:
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
    ignored = target.ignored_settings(profile.resources(), where.deploy_mode) if target else ()
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
