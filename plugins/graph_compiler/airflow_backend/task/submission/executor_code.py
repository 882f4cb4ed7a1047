"""The code that executors and drivers on other hosts import: an archive below the run's folder.

--py-files <root>/<pipeline>/<run>/code/<sha256>.zip
"""

from __future__ import annotations

from collections.abc import Iterable

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

from graph_compiler.declaration.functions import FunctionRef
from graph_compiler.deployment.documents.descriptor import (
    RegionDescriptor,
    TaskDeploymentDescriptor,
)
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.deployment.documents.values_within import values_within
from graph_compiler.deployment.targets.execution_target import DriverPlace, ExecutionTarget
from graph_compiler.projects.code_archive import CodeArchive, pack
from graph_compiler.staging.store.stores import store_of


def pass_code(
    hook: SparkSubmitHook,
    target: ExecutionTarget,
    place: DriverPlace,
    layout: StagingLayout,
    regions: Iterable[RegionDescriptor],
) -> CodeArchive | None:
    """Let the hook pass the code of all functions of the pipeline; None where executors see this host's files.

    `regions` are all of the pipeline: a task that recomputes a lost result runs the functions of the one that made it.
    Raises CodeArchiveError.
    """
    if target.executors_see_driver_files:
        return None
    archive = pack(function_modules(regions))
    key = place.uri(layout.code(archive.digest))
    named = hook._py_files or hook._conf.get("spark.submit.pyFiles")  # the argument wins over it
    hook._py_files = ",".join(filter(None, [named, key]))
    return archive


def ship_code(task: TaskDeploymentDescriptor, archive: CodeArchive | None) -> None:
    """Put the archive that executors read: the first task of a run does, later ones find it unless code changed."""
    if archive is not None:
        key = task.layout.code(archive.digest)
        store_of(task.staging_root).put_if_absent(key, archive.content)


def function_modules(regions: Iterable[RegionDescriptor]) -> set[str]:
    """Return the modules of all functions that regions call."""
    return {
        function.module for region in regions for function in values_within(region, FunctionRef)
    }
