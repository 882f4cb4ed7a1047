"""The pod of a driver on Kubernetes: what it needs is checked before anything is submitted, and it has a known name.

Each execution has its own name for its pod, so that the cluster itself refuses a second one. Airflow's provider finds
the name in what spark-submit prints only if the namespace is called `spark`.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

from graph_compiler.airflow_backend.task.submission.submit_target import ExecutionTargetError
from graph_compiler.declaration.resources.deploy_mode import DeployMode
from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor

_NAME = "spark.kubernetes.driver.pod.name"
_IMAGE = "spark.kubernetes.container.image"
_NAMESPACE = "spark.kubernetes.namespace"
_MOST_CHARACTERS = 63
"""A pod's name is also its host's name."""


def prepare_pod(hook: SparkSubmitHook, task: TaskDeploymentDescriptor) -> None:
    """Name the pod of a driver; raises ExecutionTargetError with all that an application on Kubernetes lacks."""
    if not hook._is_kubernetes:
        return
    in_cluster = hook._connection["deploy_mode"] == DeployMode.CLUSTER
    lacking = list(_lacking(hook, in_cluster=in_cluster))
    if lacking:
        raise ExecutionTargetError(
            f"task '{task.region.region_id}': Airflow connection '{hook._conn_id}' has master "
            f"'{hook._connection['master']}', and an application on Kubernetes needs more settings\n"
            f"  missing: {'; '.join(lacking)}\n"
            "  hint: set them in the pipeline's options, in conf= of the slot sharing group, or in spark_conf of "
            "section [graph_compiler]"
        )
    if in_cluster:
        hook._kubernetes_driver_pod = hook._conf.setdefault(_NAME, _name(task))


def _lacking(hook: SparkSubmitHook, *, in_cluster: bool) -> Iterator[str]:
    settings = {**_defaults(), **hook._conf}
    roles = ("driver", "executor") if in_cluster else ("executor",)
    own = [f"spark.kubernetes.{role}.container.image" for role in roles]
    if _IMAGE not in settings and not all(image in settings for image in own):
        yield f"{_IMAGE} (with Spark, and a Python of the driver's minor version)"
    if in_cluster and not hook._connection["namespace"]:
        yield f"{_NAMESPACE}, or namespace in the connection's extra (Airflow looks for the driver's pod there)"


def _defaults() -> Mapping[str, str]:
    """Return the settings of this host's spark-defaults.conf, which spark-submit reads."""
    home = os.environ.get("SPARK_HOME")
    folder = os.environ.get("SPARK_CONF_DIR") or (home and f"{home}/conf")
    file = Path(folder or os.devnull, "spark-defaults.conf")
    if not file.is_file():
        return {}
    lines = (line.strip() for line in file.read_text(errors="replace").splitlines())
    pairs = (re.split(r"[\s=:]+", line, maxsplit=1) for line in lines if line[:1] not in ("", "#"))
    return {pair[0]: pair[-1] for pair in pairs}


def _name(task: TaskDeploymentDescriptor) -> str:
    region = task.region
    digest = hashlib.sha256(task.attempt.execution_id.encode()).hexdigest()[:16]
    end = f"-{digest}-driver"
    words = re.sub(r"[^a-z0-9]+", "-", f"{region.pipeline}-{region.region_id}".lower()).strip("-")
    begin = words if words[:1].isalpha() else f"task-{words}"
    return begin[: _MOST_CHARACTERS - len(end)].rstrip("-") + end
