"""The execution target of a task, as its Airflow connection has it: checked before anything is submitted.

On Kubernetes, each execution has its own name for its driver's pod, so that the cluster itself refuses a second one,
and the pod of a try that died while it submitted is found. The name is not read from what spark-submit prints.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graph_compiler.declaration.resources.application import DeployMode, secret_in_plain_text
from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.targets.execution_target import ExecutionTarget
from graph_compiler.deployment.targets.known_targets import BUILT_IN, ENTRY_POINTS, target_named, target_of
from graph_compiler.errors import ExtensionError, GraphCompilerError
from graph_compiler.identifiers import listing

POD_NAME = "spark.kubernetes.driver.pod.name"
_IMAGE = "spark.kubernetes.container.image"
_NAMESPACE = "spark.kubernetes.namespace"
_MOST_CHARACTERS = 63
"""A pod's name is also its host's name."""


class ExecutionTargetError(GraphCompilerError):
    """The Airflow connection of a task has another master, or another deploy mode, than its target."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkArguments:
    """What the provider passes to spark-submit by itself: the connection's, and the arguments of the task."""

    conn_id: str
    master: str
    deploy_mode: str | None = None
    namespace: str | None = None
    is_kubernetes: bool = False
    program: str = "spark-submit"
    conf: Mapping[str, Any] = field(default_factory=dict, repr=False)
    jars: str | None = None
    archives: str | None = None
    py_files: str | None = None
    driver_class_path: str | None = None
    driver_memory: str | None = None
    properties_file: str | None = None

    @property
    def mode(self) -> str:
        """The deploy mode: Spark's own default is that of a driver on this host."""
        return self.deploy_mode or DeployMode.CLIENT

    @property
    def is_elsewhere(self) -> bool:
        """Whether the driver runs on another host, which may have another staging root."""
        return self.mode == DeployMode.CLUSTER


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkDefaults:
    """The settings that spark-submit reads from a file of this host."""

    file: Path
    settings: Mapping[str, str]


def submit_target(spark: SparkArguments, declared: str | None, task_id: str) -> ExecutionTarget:
    """Return the declared target, or the one with the connection's master.

    Raises ExecutionTargetError if the connection's master is not one of the target's, or the target does not have its
    deploy mode.
    """
    try:
        target = _target(spark, declared, task_id)
    except ExtensionError as error:
        raise ExecutionTargetError(f"task '{task_id}': {error}") from None
    _check_deploy_mode(spark, target, task_id)
    return target


def _target(spark: SparkArguments, declared: str | None, task_id: str) -> ExecutionTarget:
    named = None if declared is None else target_named(declared)
    if named is not None and named.has_master(spark.master):
        return named
    found = target_of(spark.master)
    if named is not None:
        switch = f", or set execution.target to {found.name}" if found else ""
        raise ExecutionTargetError(
            f"task '{task_id}' is declared for execution target '{named.name}', but Airflow connection "
            f"'{spark.conn_id}' has master '{spark.master}'\n"
            f"  allowed: {named.master_form}\n"
            "  hint: name a connection of such a master, with option airflow.conn-id or conn_id= of the slot "
            f"sharing group{switch}"
        )
    if found is None:
        raise ExecutionTargetError(
            f"task '{task_id}': no execution target has master '{spark.master}' of Airflow connection "
            f"'{spark.conn_id}'\n"
            f"  allowed: {'; '.join(target.master_form for target in BUILT_IN)}\n"
            f"  hint: another package adds a target by an entry point of {ENTRY_POINTS}"
        )
    return found


def _check_deploy_mode(spark: SparkArguments, target: ExecutionTarget, task_id: str) -> None:
    mode = spark.mode
    if mode in target.deploy_modes:
        return
    why = f": {target.place(DeployMode(mode)).refused}" if mode in tuple(DeployMode) else ""
    raise ExecutionTargetError(
        f"task '{task_id}' has deploy mode '{mode}', but execution target '{target.name}' of Airflow connection "
        f"'{spark.conn_id}' does not have it{why}\n"
        f"  allowed: {', '.join(target.deploy_modes)}\n"
        "  hint: set option execution.deploy-mode, deploy_mode= of the slot sharing group, or deploy-mode in the "
        "connection's extra"
    )


def driver_pod(
    spark: SparkArguments, conf: Mapping[str, Any], defaults: SparkDefaults | None, task: TaskDeploymentDescriptor
) -> str | None:
    """Return the name of the driver's pod, None for a driver that is in none.

    Raises ExecutionTargetError for what is missing on Kubernetes.
    """
    if not spark.is_kubernetes:
        return None
    task_name = task.region.task_name
    found = f"task '{task_name}': Airflow connection '{spark.conn_id}' has master '{spark.master}'"
    by_file = {} if defaults is None else defaults.settings
    lacking = list(_lacking(spark, {**by_file, **conf}))
    if lacking:
        lines = "".join(f"\n    {setting}    {why}" for setting, why in lacking)
        raise ExecutionTargetError(
            f"{found}, and an application on Kubernetes needs more settings\n  missing:{lines}\n"
            "  hint: set them in the pipeline's options, in conf= of the slot sharing group, or in spark_conf of "
            "section [graph_compiler]"
        )
    if not spark.is_elsewhere:
        return None
    secrets = [key for key in by_file if secret_in_plain_text(key, key)]
    if defaults is not None and secrets:
        raise ExecutionTargetError(
            f"{found}, and spark-submit would copy {listing(secrets)} from {defaults.file} to a ConfigMap of "
            "the cluster\n  hint: remove it there; use Secret in the pipeline, or a Hadoop credential provider"
        )
    if POD_NAME in conf:
        raise ExecutionTargetError(
            f"{found}, and {POD_NAME} is set: a name can be used once, and each execution has a pod of its own\n"
            f"  hint: remove the setting {POD_NAME}"
        )
    return pod_name(task.region.pipeline, task_name, task.attempt.execution_id)


def _lacking(spark: SparkArguments, settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the settings that are missing, with what each is for."""
    roles = ("driver", "executor") if spark.is_elsewhere else ("executor",)
    own = [f"spark.kubernetes.{role}.container.image" for role in roles]
    if _IMAGE not in settings and not all(image in settings for image in own):
        yield _IMAGE, "an image with Spark, and a Python of the driver's minor version"
    if spark.is_elsewhere and not spark.namespace:
        yield _NAMESPACE, "or namespace in the connection's extra: where Airflow looks for the pod"


def pod_name(pipeline: str, task_name: str, execution_id: str) -> str:
    """Return the name of an execution's pod: a label of DNS."""
    digest = hashlib.sha256(execution_id.encode()).hexdigest()[:16]
    end = f"-{digest}-driver"
    words = re.sub(r"[^a-z0-9]+", "-", f"{pipeline}-{task_name}".lower()).strip("-")
    begin = words if words[:1].isalpha() else f"task-{words}"
    return begin[: _MOST_CHARACTERS - len(end)].rstrip("-") + end
