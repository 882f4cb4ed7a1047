"""How a process without spark-submit starts Spark: settings in the variable that pyspark reads."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping

from graph_compiler.cli.running.embedded_airflow import EmbeddedAirflow
from graph_compiler.declaration.artifacts.user_artifact import ArtifactKind
from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.targets.submit_settings import pipeline_settings
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline

SUBMIT_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
MASTER = "local[*]"
_JARS = "spark.jars"


def local_settings(compiled: CompiledPipeline, airflow: EmbeddedAirflow) -> dict[str, str]:
    """Return Spark's settings: a pipeline's win over `spark_conf`; groups share the session."""
    return airflow.spark_conf | pipeline_settings(compiled)


def artifact_settings(settings: Mapping[str, str], task: TaskDeploymentDescriptor) -> dict[str, str]:
    """Return settings with the jars that the pipeline of a task names: the JVM must start with them."""
    keys = (task.layout.artifact(each) for each in task.region.artifacts if each.kind is ArtifactKind.JAR)
    named = ",".join([*filter(None, [settings.get(_JARS)]), *keys])
    return {**settings, _JARS: named} if named else dict(settings)


def submit_variable(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the variable that starts a local session with settings; empty if there are none."""
    return {SUBMIT_ARGUMENTS: _arguments(settings)} if settings else {}


def submit_arguments(settings: Mapping[str, str]) -> str:
    """Return pyspark's arguments for a run on this machine; those that the user has set win."""
    return os.environ.get(SUBMIT_ARGUMENTS, _arguments(settings, "--master", MASTER))


def _arguments(settings: Mapping[str, str], *before: str) -> str:
    words = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    return shlex.join([*before, *words, "pyspark-shell"])
