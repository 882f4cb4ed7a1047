"""What a pipeline's tasks need on other hosts: the code of its functions, and the files that it names.

--py-files <root>/<pipeline>/<run>/code/<sha256>.zip
--jars <root>/<pipeline>/<run>/files/<version>/functions.jar
--archives file:<root>/<pipeline>/<run>/files/<version>/pandas.tar.gz#environment

All are copies below the run's folder. Files are no arguments: the driver adds them (`spark_runtime/artifacts.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

from graph_compiler.declaration.artifacts.user_artifact import ArtifactKind
from graph_compiler.declaration.functions import FunctionRef
from graph_compiler.deployment.documents.descriptor import (
    RegionDescriptor,
    TaskDeploymentDescriptor,
)
from graph_compiler.deployment.documents.values_within import values_within
from graph_compiler.deployment.targets.execution_target import ExecutionTarget
from graph_compiler.options.flink_settings import PYTHON
from graph_compiler.projects.code_archive import CodeArchive, pack
from graph_compiler.staging.executions.artifact_copies import put_artifacts
from graph_compiler.staging.store.stores import store_of


def pass_code(
    hook: SparkSubmitHook,
    target: ExecutionTarget,
    task: TaskDeploymentDescriptor,
    others: Iterable[RegionDescriptor],
) -> CodeArchive | None:
    """Let the hook pass the code of all functions of the pipeline; None where executors see this host's files.

    `others` are the pipeline's other regions: a task that recomputes a lost result runs their functions. Raises
    CodeArchiveError.
    """
    _pass_artifacts(hook, target, task)
    if target.executors_see_driver_files:
        return None
    archive = pack(function_modules([task.region, *others]))
    key = task.layout.code(archive.digest)
    hook._py_files = _with(hook._py_files or hook._conf.get("spark.submit.pyFiles"), key)
    return archive


def ship_code(task: TaskDeploymentDescriptor, archive: CodeArchive | None) -> None:
    """Put what executors read: the first task of a run does, later ones find it unless it changed.

    Raises ArtifactError if a file was changed after the pipeline was loaded.
    """
    store = store_of(task.staging_root)
    put_artifacts(store, task)
    if archive is not None:
        store.put_if_absent(task.layout.code(archive.digest), archive.content)


def _pass_artifacts(
    hook: SparkSubmitHook, target: ExecutionTarget, task: TaskDeploymentDescriptor
) -> None:
    """Let the hook pass jars and archives; the argument wins over the setting, which may name others."""
    for artifact in task.region.artifacts:
        key = task.layout.artifact(artifact)
        match artifact.kind:
            case ArtifactKind.JAR:
                hook._jars = _with(hook._jars or hook._conf.get("spark.jars"), key)
            case ArtifactKind.ARCHIVE:
                # As a URI: Spark would take a run id's %3A in a path with a fragment for a colon.
                named = hook._archives or hook._conf.get("spark.archives")
                hook._archives = _with(named, f"{Path(key).as_uri()}#{artifact.name}")
    python = hook._conf.get(PYTHON)
    if python and not Path(python).is_absolute() and target.executors_see_driver_files:
        # It is in an archive, which no process of the host starts in: the worker's Python runs functions.
        hook._conf = {key: value for key, value in hook._conf.items() if key != PYTHON}


def _with(named: str | None, more: str) -> str:
    return ",".join(filter(None, [named, more]))


def function_modules(regions: Iterable[RegionDescriptor]) -> set[str]:
    """Return the modules of all functions that regions call."""
    return {
        function.module for region in regions for function in values_within(region, FunctionRef)
    }
