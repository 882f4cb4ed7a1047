"""The environment of spark-submit's process: the driver's import path, its Python, and how its JVM ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

import graph_compiler
from graph_compiler.airflow_backend.task.executor_code import function_modules
from graph_compiler.declaration.source_digest import import_root
from graph_compiler.deployment.documents.descriptor import RegionDescriptor

_JVM_OPTIONS = (
    "SPARK_SUBMIT_OPTS"  # in addition to spark-defaults.conf; a --conf would replace that
)
_END_WITHOUT_MEMORY = "-XX:+ExitOnOutOfMemoryError"
"""Without this, the JVM's thread that answers Python may end alone, and Python waits for it forever."""
_PYTHON, _DRIVER_PYTHON = "spark.pyspark.python", "spark.pyspark.driver.python"
PACKAGE = Path(graph_compiler.__file__).parent


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
    jvm_options = os.environ.get(_JVM_OPTIONS, "").split()
    return {
        _JVM_OPTIONS: " ".join(dict.fromkeys([*jvm_options, _END_WITHOUT_MEMORY])),
        "PYTHONPATH": os.pathsep.join([*roots, *inherited]),
        "PYSPARK_DRIVER_PYTHON": os.environ.get("PYSPARK_DRIVER_PYTHON", sys.executable),
    }


def driver_python(hook: SparkSubmitHook) -> dict[str, str]:
    """Return the setting that keeps the Python of a driver on this host if the settings name one for executors."""
    is_elsewhere = hook._connection["deploy_mode"] == "cluster"
    if is_elsewhere or _PYTHON not in hook._conf or _DRIVER_PYTHON in hook._conf:
        return {}
    return {_DRIVER_PYTHON: os.environ.get("PYSPARK_DRIVER_PYTHON", sys.executable)}


def _import_root(module: str) -> str | None:
    file = getattr(sys.modules.get(module), "__file__", None)
    return None if file is None else str(import_root(module, Path(file).resolve()))
