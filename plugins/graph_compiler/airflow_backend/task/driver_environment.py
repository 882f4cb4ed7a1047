"""The environment of spark-submit's process: the driver's import path, its Python, and how its JVM ends."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import graph_compiler
from graph_compiler.declaration.functions import FunctionRef
from graph_compiler.deployment.documents.descriptor import RegionDescriptor
from graph_compiler.deployment.documents.values_within import values_within

_JVM_OPTIONS = (
    "SPARK_SUBMIT_OPTS"  # in addition to spark-defaults.conf; a --conf would replace that
)
_END_WITHOUT_MEMORY = "-XX:+ExitOnOutOfMemoryError"
"""Without this, the JVM's thread that answers Python may end alone, and Python waits for it forever."""
PACKAGE = Path(graph_compiler.__file__).parent


def driver_environment(region: RegionDescriptor) -> dict[str, str]:
    """Return the environment in which the driver can import this package and the modules of the region's functions."""
    modules = {function.module for function in values_within(region, FunctionRef)}
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


def _import_root(module: str) -> str | None:
    file = getattr(sys.modules.get(module), "__file__", None)
    return None if file is None else str(Path(file).resolve().parents[module.count(".")])
