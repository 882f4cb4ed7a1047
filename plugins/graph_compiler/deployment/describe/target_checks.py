"""Problems of declared execution targets: unknown ones, deploy modes they do not have, settings they ignore."""

from __future__ import annotations

from collections.abc import Iterator

from graph_compiler.declaration.resources.slot_sharing_group import PLACES, SlotSharingGroup
from graph_compiler.deployment.targets.execution_target import ExecutionTarget
from graph_compiler.deployment.targets.known_targets import (
    ENTRY_POINTS,
    target_named,
    target_names,
)
from graph_compiler.deployment.targets.submit_settings import SubmitSettings, submit_settings
from graph_compiler.errors import ExtensionError, Problem
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.identifiers import did_you_mean, listing

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
        why = f", and cluster mode is refused: {refused}" if refused else ""
        yield Problem(
            message=f"{name}: execution.deferrable is true, and a task of execution target '{target.name}' cannot wait "
            f"in Airflow's triggerer: its driver is a process of the Airflow worker{why}",
            allowed="false, unset, or deploy mode cluster on yarn or kubernetes",
        )


def _may_be_tracked(target: ExecutionTarget, where: SubmitSettings) -> bool:
    modes = target.deploy_modes if where.deploy_mode is None else (where.deploy_mode,)
    return any(target.place(mode).is_tracked for mode in modes)


def _ignored_settings(
    profile: SlotSharingGroup, where: SubmitSettings, name: str
) -> Iterator[Problem]:
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
    """Return the declared target, None if there is another problem with it."""
    if any(_place_problems(where, "")):
        return None
    return target_named(where.target) if where.target else None
