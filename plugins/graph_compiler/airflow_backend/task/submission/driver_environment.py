"""What a driver finds on its host: its program, its import path, its Python, and how its JVM ends.

On this host the driver inherits the environment of spark-submit. On another one it has nothing of it: its program lies
beside the archive of the code, which has this package.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

import graph_compiler
from graph_compiler.declaration.functions import FunctionRef, import_root
from graph_compiler.deployment.documents.descriptor import (
    RegionDescriptor,
    TaskDeploymentDescriptor,
)
from graph_compiler.deployment.documents.jvm_settings import SUBMIT_VARIABLE, with_pins
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.deployment.documents.wire import values_within
from graph_compiler.deployment.targets.execution_target import DriverPlace, ExecutionTarget
from graph_compiler.driver_jvm.pinned_process import pinned_variables
from graph_compiler.projects.code_archive import CodeArchive, pack
from graph_compiler.staging.store.stores import store_of

_END_WITHOUT_MEMORY = "-XX:+ExitOnOutOfMemoryError"
"""Without this, the JVM's thread that answers Python may end alone, and Python waits for it forever."""
_PYTHON, _DRIVER_PYTHON = "spark.pyspark.python", "spark.pyspark.driver.python"
_DEFAULT_JVM_OPTIONS = "spark.driver.defaultJavaOptions"
_OF_THIS_HOST = ("PYTHONPATH", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
"""Variables that spark-submit would hand to a driver on another host."""
PACKAGE = Path(graph_compiler.__file__).parent
APPLICATION = PACKAGE / "spark_runtime" / "main.py"
_PROGRAM = (PACKAGE / "spark_runtime" / "driver_program.py").read_bytes()
_PROGRAM_DIGEST = hashlib.sha256(_PROGRAM).hexdigest()


def program(place: DriverPlace, task: TaskDeploymentDescriptor) -> str:
    """Return what spark-submit starts: a file of this package, or on another host one below the staging root."""
    if not place.is_elsewhere:
        return str(APPLICATION)
    return place.uri(task.layout.program(_PROGRAM_DIGEST))


def ship_program(place: DriverPlace, task: TaskDeploymentDescriptor) -> None:
    """Put the program of a driver on another host, if its run has none."""
    if place.is_elsewhere:
        key = task.layout.program(_PROGRAM_DIGEST)
        store_of(task.staging_root).put_if_absent(key, _PROGRAM)


def hide_this_host(hook: SparkSubmitHook) -> None:
    """Keep from spark-submit's process what it would hand to a driver on another host."""
    environment = {name: it for name, it in os.environ.items() if name not in _OF_THIS_HOST}
    hook.submit = partial(hook.submit, env=environment)


def end_without_memory(hook: SparkSubmitHook) -> None:
    """Let the JVM of a driver on another host end when it has no memory left, and pin its zone, locale and charset."""
    options = str(hook._conf.get(_DEFAULT_JVM_OPTIONS, "")).split()
    kept = " ".join(dict.fromkeys([*options, _END_WITHOUT_MEMORY]))
    hook._conf[_DEFAULT_JVM_OPTIONS] = with_pins(kept)


def driver_environment(regions: Iterable[RegionDescriptor]) -> dict[str, str]:
    """Return the environment in which the driver can import this package and the modules of all functions of regions.

    They are all regions of a pipeline: a task that recomputes a lost result runs the functions of the one that made it.
    """
    modules = function_modules(regions)
    roots = [
        str(PACKAGE.parent),
        *sorted({root for module in modules if (root := _import_root(module))}),
    ]
    inherited = [
        path
        for path in os.environ.get("PYTHONPATH", "").split(os.pathsep)
        if path and path not in roots
    ]
    # This variable adds to spark-defaults.conf; a --conf would replace what is there.
    jvm_options = os.environ.get(SUBMIT_VARIABLE, "").split()
    kept = " ".join(dict.fromkeys([*jvm_options, _END_WITHOUT_MEMORY]))
    return {
        **pinned_variables({SUBMIT_VARIABLE: kept}),
        "PYTHONPATH": os.pathsep.join([*roots, *inherited]),
        "PYSPARK_DRIVER_PYTHON": os.environ.get("PYSPARK_DRIVER_PYTHON", sys.executable),
    }


def keep_driver_python(hook: SparkSubmitHook) -> None:
    """Keep the Python of a driver on this host if the settings name one for executors."""
    if _PYTHON in hook._conf and _DRIVER_PYTHON not in hook._conf:
        python = os.environ.get("PYSPARK_DRIVER_PYTHON", sys.executable)
        hook._conf[_DRIVER_PYTHON] = python


def _import_root(module: str) -> str | None:
    file = getattr(sys.modules.get(module), "__file__", None)
    return None if file is None else str(import_root(module, Path(file).resolve()))


# The code that executors and drivers on other hosts import: an archive below the run's folder.
#
# --py-files <root>/<pipeline>/<run>/code/<sha256>.zip


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
