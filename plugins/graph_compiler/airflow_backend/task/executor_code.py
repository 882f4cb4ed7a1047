"""The code of a pipeline's functions, for executors that are not on this host: an archive below the run's folder.

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
from graph_compiler.deployment.documents.values_within import values_within
from graph_compiler.projects.code_archive import pack
from graph_compiler.staging.store.stores import store_of


def ship_code(
    hook: SparkSubmitHook, task: TaskDeploymentDescriptor, others: Iterable[RegionDescriptor]
) -> None:
    """Let the hook pass the code of all functions of the pipeline, unless executors share this host's files.

    `others` are the pipeline's other regions: a task that recomputes a lost result runs their functions. The first
    task of a run puts the archive; later ones find it, unless the code was changed. Raises CodeArchiveError.
    """
    if not runs_elsewhere(hook):
        return
    archive = pack(function_modules([task.region, *others]))
    key = task.layout.code(archive.digest)
    store_of(task.staging_root).put_if_absent(key, archive.content)
    hook._py_files = ",".join(filter(None, [hook._py_files, key]))


def function_modules(regions: Iterable[RegionDescriptor]) -> set[str]:
    """Return the modules of all functions that regions call."""
    return {
        function.module for region in regions for function in values_within(region, FunctionRef)
    }


def runs_elsewhere(hook: SparkSubmitHook) -> bool:
    """Whether executors are not threads of a driver on this host."""
    return not str(hook._connection["master"]).startswith("local")
