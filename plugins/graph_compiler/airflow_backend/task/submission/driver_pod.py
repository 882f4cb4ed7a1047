"""The pod of a driver on Kubernetes: what it needs is checked before anything is submitted, and it has a known name.

Each execution has its own name for its pod, so that the cluster itself refuses a second one, and the pod of a try that
died while it submitted is found. The name is not read from what spark-submit prints.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

from graph_compiler.airflow_backend.task.submission.submit_target import ExecutionTargetError
from graph_compiler.airflow_backend.task.task_try import TaskTry
from graph_compiler.declaration.resources.slot_sharing_group import DeployMode, secret_in_plain_text
from graph_compiler.identifiers import listing

_NAME = "spark.kubernetes.driver.pod.name"
_IMAGE = "spark.kubernetes.container.image"
_NAMESPACE = "spark.kubernetes.namespace"
_MOST_CHARACTERS = 63
"""A pod's name is also its host's name."""


def prepare_pod(hook: SparkSubmitHook, task: TaskTry) -> None:
    """Name the pod of a driver; raises ExecutionTargetError for what is missing on Kubernetes."""
    if not hook._is_kubernetes:
        return
    in_cluster = hook._connection["deploy_mode"] == DeployMode.CLUSTER
    defaults = _defaults(hook)
    found = (
        f"task '{task.task_name}': Airflow connection '{hook._conn_id}' has master "
        f"'{hook._connection['master']}'"
    )
    lacking = list(_lacking(hook, defaults, in_cluster=in_cluster))
    if lacking:
        lines = "".join(f"\n    {setting}    {why}" for setting, why in lacking)
        raise ExecutionTargetError(
            f"{found}, and an application on Kubernetes needs more settings\n  missing:{lines}\n"
            "  hint: set them in the pipeline's options, in conf= of the slot sharing group, or in spark_conf of "
            "section [graph_compiler]"
        )
    if not in_cluster:
        return
    if secrets := [key for key in defaults if secret_in_plain_text(key, key)]:
        raise ExecutionTargetError(
            f"{found}, and spark-submit would copy {listing(secrets)} from {_defaults_file(hook)} to a ConfigMap of "
            "the cluster\n  hint: remove it there; use Secret in the pipeline, or a Hadoop credential provider"
        )
    if _NAME in hook._conf:
        raise ExecutionTargetError(
            f"{found}, and {_NAME} is set: a name can be used once, and each execution has a pod of its own\n"
            f"  hint: remove the setting {_NAME}"
        )
    name = pod_name(task.pipeline, task.task_name, task.execution_id)
    hook._kubernetes_driver_pod = hook._conf[_NAME] = name


def check_client(hook: SparkSubmitHook, task_id: str) -> None:
    """Raise ExecutionTargetError if Airflow has no address of the cluster to ask for the pod; nothing is sent."""
    if not hook._is_kubernetes:
        return
    # Not at the top: it is installed only where Kubernetes is used.
    from airflow.providers.cncf.kubernetes import kube_client

    try:
        kube_client.get_kube_client()
    except Exception as error:  # the client's own
        raise ExecutionTargetError(
            f"task '{task_id}': Airflow cannot ask the cluster for the driver's pod: {error}\n"
            "  hint: in section [kubernetes_executor] of Airflow's configuration, in_cluster is True by default; "
            "outside of the cluster, set it to False, and config_file to a kubeconfig"
        ) from None


def _lacking(
    hook: SparkSubmitHook, defaults: Mapping[str, str], *, in_cluster: bool
) -> Iterator[tuple[str, str]]:
    """Yield the settings that are missing, with what each is for."""
    settings = {**defaults, **hook._conf}
    roles = ("driver", "executor") if in_cluster else ("executor",)
    own = [f"spark.kubernetes.{role}.container.image" for role in roles]
    if _IMAGE not in settings and not all(image in settings for image in own):
        yield _IMAGE, "an image with Spark, and a Python of the driver's minor version"
    if in_cluster and not hook._connection["namespace"]:
        yield _NAMESPACE, "or namespace in the connection's extra: where Airflow looks for the pod"


def _defaults(hook: SparkSubmitHook) -> Mapping[str, str]:
    """Return the settings that spark-submit reads from a file of this host."""
    file = _defaults_file(hook)
    if not file.is_file():
        return {}
    lines = (line.strip() for line in file.read_text(errors="replace").splitlines())
    pairs = (re.split(r"[\s=:]+", line, maxsplit=1) for line in lines if line[:1] not in ("", "#"))
    return {pair[0]: pair[-1] for pair in pairs}


def _defaults_file(hook: SparkSubmitHook) -> Path:
    if hook._properties_file:
        return Path(hook._properties_file)
    if folder := os.environ.get("SPARK_CONF_DIR"):
        return Path(folder, "spark-defaults.conf")
    binary = shutil.which(hook._connection["spark_binary"]) or os.devnull
    home = os.environ.get("SPARK_HOME") or Path(binary).resolve().parent.parent
    return Path(home, "conf", "spark-defaults.conf")


def pod_name(pipeline: str, task_name: str, execution_id: str) -> str:
    """Return the name of an execution's pod: a label of DNS."""
    digest = hashlib.sha256(execution_id.encode()).hexdigest()[:16]
    end = f"-{digest}-driver"
    words = re.sub(r"[^a-z0-9]+", "-", f"{pipeline}-{task_name}".lower()).strip("-")
    begin = words if words[:1].isalpha() else f"task-{words}"
    return begin[: _MOST_CHARACTERS - len(end)].rstrip("-") + end
