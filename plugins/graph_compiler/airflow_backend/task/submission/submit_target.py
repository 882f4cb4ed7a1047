"""The execution target of a task, as its Airflow connection has it: checked before anything is submitted."""

from __future__ import annotations

from collections.abc import Callable

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

from graph_compiler.declaration.resources.slot_sharing_group import DeployMode
from graph_compiler.deployment.targets.execution_target import DriverPlace, ExecutionTarget
from graph_compiler.deployment.targets.known_targets import (
    BUILT_IN,
    ENTRY_POINTS,
    KUBERNETES,
    target_named,
    target_of,
)
from graph_compiler.errors import ExtensionError, GraphCompilerError


class ExecutionTargetError(GraphCompilerError):
    """The Airflow connection of a task has another master, or another deploy mode, than its target."""


def hook_of(create: Callable[[], SparkSubmitHook]) -> SparkSubmitHook:
    """Return a hook; raises ExecutionTargetError if what its connection's master needs is not installed."""
    try:
        return create()
    except (NameError, RuntimeError):  # the provider names a module that it could not import
        raise ExecutionTargetError(
            f"the Airflow connection has a master on Kubernetes, and {KUBERNETES.provider} is not installed\n"
            f"  hint: install it where tasks run: pip install {KUBERNETES.provider}"
        ) from None


def submit_target(hook: SparkSubmitHook, declared: str | None, task_id: str) -> ExecutionTarget:
    """Return the declared target, or the one with the connection's master.

    Raises ExecutionTargetError if the connection's master is not one of the target's, or the target does not have its
    deploy mode.
    """
    try:
        target = _target(hook, declared, task_id)
    except ExtensionError as error:
        raise ExecutionTargetError(f"task '{task_id}': {error}") from None
    _check_deploy_mode(hook, target, task_id)
    return target


def driver_place(hook: SparkSubmitHook, target: ExecutionTarget) -> DriverPlace:
    """Return what is true of the hook's driver."""
    return target.place(DeployMode(_deploy_mode(hook)))


def _target(hook: SparkSubmitHook, declared: str | None, task_id: str) -> ExecutionTarget:
    master, conn_id = str(hook._connection["master"]), hook._conn_id
    named = None if declared is None else target_named(declared)
    if named is not None and named.has_master(master):
        return named
    found = target_of(master)
    if named is not None:
        switch = f", or set execution.target to {found.name}" if found else ""
        raise ExecutionTargetError(
            f"task '{task_id}' is declared for execution target '{named.name}', but Airflow connection "
            f"'{conn_id}' has master '{master}'\n"
            f"  allowed: {named.master_form}\n"
            "  hint: name a connection of such a master, with option airflow.conn-id or conn_id= of the slot "
            f"sharing group{switch}"
        )
    if found is None:
        raise ExecutionTargetError(
            f"task '{task_id}': no execution target has master '{master}' of Airflow connection '{conn_id}'\n"
            f"  allowed: {'; '.join(target.master_form for target in BUILT_IN)}\n"
            f"  hint: another package adds a target by an entry point of {ENTRY_POINTS}"
        )
    return found


def _check_deploy_mode(hook: SparkSubmitHook, target: ExecutionTarget, task_id: str) -> None:
    mode = _deploy_mode(hook)
    if mode in target.deploy_modes:
        return
    why = f": {target.place(DeployMode(mode)).refused}" if mode in tuple(DeployMode) else ""
    raise ExecutionTargetError(
        f"task '{task_id}' has deploy mode '{mode}', but execution target '{target.name}' of Airflow connection "
        f"'{hook._conn_id}' does not have it{why}\n"
        f"  allowed: {', '.join(target.deploy_modes)}\n"
        "  hint: set option execution.deploy-mode, deploy_mode= of the slot sharing group, or deploy-mode in the "
        "connection's extra"
    )


def _deploy_mode(hook: SparkSubmitHook) -> str:
    return str(hook._connection["deploy_mode"] or DeployMode.CLIENT)
