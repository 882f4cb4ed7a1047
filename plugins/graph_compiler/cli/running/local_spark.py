"""How a process without spark-submit starts Spark: settings in the variable that pyspark reads."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from graph_compiler.cli.running.airflow_answers import access_of_airflow
from graph_compiler.cli.running.embedded_airflow import EmbeddedAirflow
from graph_compiler.declaration.artifacts.user_artifact import ArtifactKind
from graph_compiler.declaration.connectors.secret import Secret
from graph_compiler.deployment.documents.descriptor import OperatorDescriptor, TaskDeploymentDescriptor
from graph_compiler.deployment.documents.wire import values_within
from graph_compiler.deployment.targets.submit_settings import pipeline_settings
from graph_compiler.driver_jvm.class_archive import archive_cache
from graph_compiler.driver_jvm.installation import DriverStartError, spark_jars
from graph_compiler.driver_jvm.start_settings import DriverStart, start_settings
from graph_compiler.errors import Problem
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


def tuned(settings: Mapping[str, str], compiled: CompiledPipeline, environment: Mapping[str, str]) -> dict[str, str]:
    """Return settings with those that let a task's driver start faster; a class archive of this host is used."""
    jars = spark_jars(environment)
    if jars is None or not compiled.options.driver_tuning:
        return dict(settings)
    program = str(jars.parent / "bin" / "spark-submit")  # what pyspark starts, whatever is on PATH
    start = DriverStart(environment=environment, conf=settings, program=program, is_local=True)
    return {**settings, **dict(start_settings(start).conf)}


def without_damaged_archive(environment: Mapping[str, str]) -> str:
    """Remove the class archive that a JVM was started with if it is damaged: the JVM may have died of it.

    Return what a message about its death may add: empty if nothing was removed.
    """
    with suppress(DriverStartError, OSError):
        removed = archive_cache(environment).remove_if_damaged(environment.get(SUBMIT_ARGUMENTS, ""))
        if removed is not None:
            return f"\n  hint: try again: a class archive was damaged, and is removed: {removed}"
    return ""


def submit_arguments(settings: Mapping[str, str]) -> str:
    """Return pyspark's arguments for a run on this machine; those that the user has set win."""
    words = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    return os.environ.get(SUBMIT_ARGUMENTS, shlex.join(["--master", MASTER, *words, "pyspark-shell"]))


def application_environment(
    compiled: CompiledPipeline, airflow: EmbeddedAirflow, task: TaskDeploymentDescriptor
) -> dict[str, str]:
    """Return the environment of a process that starts Spark as an application of the pipeline, with its settings.

    It can reach the staging root's store, and has the jars that the pipeline of `task` names.
    """
    access = access_of_airflow(airflow).to_root()
    settings = access.spark_settings() | artifact_settings(local_settings(compiled, airflow), task)
    environment = airflow.child_environment() | access.environment()
    return {**environment, SUBMIT_ARGUMENTS: submit_arguments(tuned(settings, compiled, environment))}


def missing_secrets(
    operators: Iterable[OperatorDescriptor], environment: Mapping[str, str], *, who: str, hint: str
) -> Iterator[Problem]:
    """Yield each secret that Spark's process would not have; `who` is what does not ask Airflow for it."""
    seen: set[Secret] = set()
    for operator in operators:
        for secret in values_within(operator, Secret):
            if secret in seen or environment.get(secret.variable):
                continue
            seen.add(secret)
            yield Problem(
                operator=operator.name,
                declared_at=operator.declared_at,
                message=f"it needs {secret}, but {who} does not ask Airflow for connections",
                allowed=f"its value in the environment variable {secret.variable}",
                hint=hint,
            )
