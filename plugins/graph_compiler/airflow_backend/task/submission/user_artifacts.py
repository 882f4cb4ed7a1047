"""Let spark-submit know of the jars and archives that a pipeline names: copies below the run's folder.

--jars <root>/<pipeline>/<run>/files/<version>/functions.jar
--archives file://<root>/<pipeline>/<run>/files/<version>/environment.tar.gz#environment

Files are no arguments: the driver adds them (`spark_runtime/artifacts.py`).
"""

from __future__ import annotations

from pathlib import Path

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

from graph_compiler.declaration.artifacts.user_artifact import ArtifactKind
from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.targets.execution_target import (
    DriverPlace,
    ExecutionTarget,
    spark_uri,
)
from graph_compiler.options.flink_settings import CLASS_PATH_SEPARATOR, CLASS_PATHS, PYTHON


def pass_artifacts(
    hook: SparkSubmitHook, place: DriverPlace, task: TaskDeploymentDescriptor
) -> None:
    """Let the hook pass jars and archives, beside those that its arguments or else its settings name."""
    for artifact in task.region.artifacts:
        key = task.layout.artifact(artifact)
        match artifact.kind:
            case ArtifactKind.JAR if place.file_prefix:
                # Executors would not find a `local:` jar: Spark decodes the %3A of a run id once more than for drivers.
                for path in CLASS_PATHS:
                    hook._conf[path] = _with(hook._conf.get(path), key, CLASS_PATH_SEPARATOR)
            case ArtifactKind.JAR:
                hook._jars = _with(hook._jars or hook._conf.get("spark.jars"), place.uri(key))
            case ArtifactKind.ARCHIVE:
                # As a URI: Spark would take a run id's %3A in a path with a fragment for a colon.
                uri = place.uri(key) if place.file_prefix else spark_uri(key)
                named = hook._archives or hook._conf.get("spark.archives")
                hook._archives = _with(named, f"{uri}#{artifact.name}")


def keep_worker_python(hook: SparkSubmitHook, target: ExecutionTarget) -> None:
    """Let functions run with the worker's Python if theirs is in an archive, in which no process of the host starts."""
    python = hook._conf.get(PYTHON)
    if python and not Path(python).is_absolute() and target.executors_see_driver_files:
        del hook._conf[PYTHON]


def _with(named: str | None, more: str, separator: str = ",") -> str:
    return separator.join(filter(None, [named, more]))
