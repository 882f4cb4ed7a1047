"""What of this host counts when a task is submitted: its process, its code, its Python, its settings of Spark.

On this host the driver inherits the environment of spark-submit. On another one it has nothing of it: its program lies
beside the archive of the code, which has this package.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

import graph_compiler
from graph_compiler.airflow_backend.provider.submit_target import SparkArguments, SparkDefaults
from graph_compiler.declaration.functions import FunctionRef, import_root
from graph_compiler.deployment.documents.descriptor import RegionDescriptor
from graph_compiler.deployment.documents.jvm_settings import SUBMIT_VARIABLE
from graph_compiler.deployment.documents.wire import values_within
from graph_compiler.driver_jvm.pinned_process import pinned_variables

END_WITHOUT_MEMORY = "-XX:+ExitOnOutOfMemoryError"
"""Without this, the JVM's thread that answers Python may end alone, and Python waits for it forever."""
PACKAGE = Path(graph_compiler.__file__).parent
APPLICATION = PACKAGE / "spark_runtime" / "main.py"
PROGRAM = (PACKAGE / "spark_runtime" / "driver_program.py").read_bytes()
"""What a driver on another host starts: from there it finds this package in the archive of the code."""
PROGRAM_DIGEST = hashlib.sha256(PROGRAM).hexdigest()


def driver_environment(regions: Iterable[RegionDescriptor]) -> dict[str, str]:
    """Return the environment in which the driver can import this package and the modules of all functions of regions.

    They are all regions of a pipeline: a task that recomputes a lost result runs the functions of the one that made it.
    """
    modules = function_modules(regions)
    roots = [str(PACKAGE.parent), *sorted({root for module in modules if (root := _import_root(module))})]
    inherited = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path and path not in roots]
    # This variable adds to spark-defaults.conf; a --conf would replace what is there.
    jvm_options = os.environ.get(SUBMIT_VARIABLE, "").split()
    kept = " ".join(dict.fromkeys([*jvm_options, END_WITHOUT_MEMORY]))
    return {
        **pinned_variables({SUBMIT_VARIABLE: kept}),
        "PYTHONPATH": os.pathsep.join([*roots, *inherited]),
        "PYSPARK_DRIVER_PYTHON": os.environ.get("PYSPARK_DRIVER_PYTHON", sys.executable),
    }


def function_modules(regions: Iterable[RegionDescriptor]) -> set[str]:
    """Return the modules of all functions that regions call."""
    return {function.module for region in regions for function in values_within(region, FunctionRef)}


def _import_root(module: str) -> str | None:
    file = getattr(sys.modules.get(module), "__file__", None)
    return None if file is None else str(import_root(module, Path(file).resolve()))


def spark_defaults(spark: SparkArguments) -> SparkDefaults:
    """Return the settings that spark-submit reads from a file of this host: none if there is no file."""
    file = _defaults_file(spark)
    text = file.read_text(errors="replace") if file.is_file() else ""
    lines = (line.strip() for line in text.splitlines())
    pairs = (re.split(r"[\s=:]+", line, maxsplit=1) for line in lines if line[:1] not in ("", "#"))
    return SparkDefaults(file=file, settings={pair[0]: pair[-1] for pair in pairs})


def _defaults_file(spark: SparkArguments) -> Path:
    if spark.properties_file:
        return Path(spark.properties_file)
    if folder := os.environ.get("SPARK_CONF_DIR"):
        return Path(folder, "spark-defaults.conf")
    program = shutil.which(spark.program) or os.devnull
    home = os.environ.get("SPARK_HOME") or Path(program).resolve().parent.parent
    return Path(home, "conf", "spark-defaults.conf")
