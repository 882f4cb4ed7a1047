"""Whether a cluster's executors have what a region needs, asked in short jobs before a row moves.

the staging root     they must read this execution's descriptor: a write to a disk of their own looks like success
their JVM            its zone, locale and charset must be the driver's
its functions        they must import the modules of functions that Spark calls there; without any, no Python
its packages         which versions they have, so that a retry keeps no region that others have computed

Asked are the executors that are there when the application starts. Those that come later are not: before a commit the
driver compares the files it sees with what was written (`publishing/written_files.py`).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from graph_compiler.declaration.operators import ApplyInPandas, KeyedProcess, MapPartitions
from graph_compiler.declaration.partitioners import FunctionPartitioner
from graph_compiler.deployment.documents.descriptor import RegionDescriptor, TaskDeploymentDescriptor
from graph_compiler.deployment.documents.wire import values_within
from graph_compiler.errors import GraphCompilerError
from graph_compiler.spark_runtime.pinned_jvm import check_executor_jvms
from graph_compiler.spark_runtime.spark_internals.java import Py4JError, read_in_parts
from graph_compiler.staging.attempts.attempt_documents import AttemptDocuments
from graph_compiler.staging.attempts.run_marker import not_shared

_MOST_TASKS = 512
_TASKS_PER_CORE = 2
"""So that no executor is left out because another one was quicker."""
_MISSING = re.compile(r"FileNotFoundException|NoSuchFileException|does not exist|Permission denied")
_EXECUTOR = re.compile(r"\(TID \d+\) \((?P<host>\S+) executor \w+\)")
_NO_PYTHON = re.compile(r'Cannot run program "(?P<program>[^"]+)"')
_OTHER_PYTHON = re.compile(r"PYTHON_VERSION_MISMATCH\] (?P<words>.+)")


class ExecutorNotPreparedError(GraphCompilerError):
    """An executor of the cluster has no Python for a task's functions, or not what they import."""


def is_local(spark: SparkSession) -> bool:
    """Whether executors are threads of the driver."""
    return str(spark.sparkContext.master).startswith("local")


def check_executors(task: TaskDeploymentDescriptor, spark: SparkSession) -> None:
    """Raise StagingRootNotSharedError or ExecutorNotPreparedError if an executor cannot do its part of the region."""
    if is_local(spark):
        return
    check_root_of_executors(spark, task.staging_root, AttemptDocuments.of(task).descriptor)
    check_executor_jvms(spark, _tasks(spark))
    if modules := modules_on_executors(task.region):
        check_imports(spark, modules)


def modules_on_executors(region: RegionDescriptor) -> tuple[str, ...]:
    """Return the modules of functions that Spark calls on executors in any case.

    A function on DataFrames runs on the driver; whether it also sends functions to executors only its rows show.
    """
    functions = [
        *(each.function for each in values_within(region, MapPartitions)),
        *(each.function for each in values_within(region, ApplyInPandas)),
        *(each.function for each in values_within(region, KeyedProcess)),
        *(each.function for each in values_within(region, FunctionPartitioner)),
    ]
    return tuple(sorted({function.module for function in functions}))


def check_root_of_executors(spark: SparkSession, root: str, path: str) -> None:
    """Let executors read a file below the staging root; raises StagingRootNotSharedError if one cannot."""
    try:
        read_in_parts(spark, path, _tasks(spark))
    except Py4JError as error:
        said = str(error)
        if not _MISSING.search(said):
            raise
        found = _EXECUTOR.search(said)
        host = found["host"] if found else "a host of the cluster"
        raise not_shared(root, f"executor on {host}", f"no {path}") from None


def check_imports(spark: SparkSession, modules: Iterable[str]) -> None:
    """Let executors import modules; raises ExecutorNotPreparedError if one cannot, or has no such Python."""
    for module, reason, place in _not_imported(spark, modules)[:1]:
        raise ExecutorNotPreparedError(
            f"Spark's executors cannot import {module}, which has a function of this task: {reason}\n"
            f"  found: {place}\n"
            "  hint: install what functions import where executors run, in the driver's versions; "
            "the project's own code is shipped"
        )


_OF_STATES = ("pandas", "pyarrow", "pyspark.sql.streaming.proto.StateMessage_pb2")
"""What Spark imports for functions with state: the last one needs protobuf, as new as it was made with."""


def check_states(spark: SparkSession) -> None:
    """Let this process and Spark's Python workers import what functions with state need; raises the same error."""
    missing = [*_not_imported_here(), *_not_imported(spark, _OF_STATES)]
    for module, reason, place in missing[:1]:
        package = "protobuf" if module.endswith("_pb2") else module
        raise ExecutorNotPreparedError(
            f"functions with state need {package} in Spark's Python: {reason}\n  found: {place}\n"
            "  allowed: pandas, pyarrow and protobuf, where the driver and executors run\n"
            "  hint: pip install pandas pyarrow protobuf there; the extra 'process' has their versions"
        )


def _not_imported_here() -> Iterator[tuple[str, str, str]]:
    for name in _OF_STATES:
        try:
            import_module(name)
        except ImportError as error:
            yield name, f"{type(error).__name__}: {error}", f"the driver's Python {sys.executable}"


def _not_imported(spark: SparkSession, modules: Iterable[str]) -> list[tuple[str, str, str]]:
    """Return modules that executors cannot import, with the reason and the place."""
    names, tasks = list(modules), _tasks(spark)

    # A nested function is passed by value: an executor that cannot import this module can still say so.
    def ask(_: Iterable[int]) -> Iterable[tuple[str, str, str]]:
        import importlib
        import platform
        import socket
        import sys

        for name in names:
            try:
                importlib.import_module(name)
            except BaseException as error:  # whatever importing the user's module raises
                place = f"Python {platform.python_version()} ({sys.executable}) on {socket.gethostname()}"
                yield name, f"{type(error).__name__}: {error}", place

    try:
        numbers = spark.sparkContext.parallelize(range(tasks), tasks)
        return sorted(set(numbers.mapPartitions(ask).collect()))
    except (Py4JError, PySparkException) as error:
        raise _without_python(str(error)) or error from None


@dataclass(frozen=True, slots=True)
class PackageOnExecutor:
    """A package of one or more executors; Python itself is one without a build, and so is one that is not there."""

    name: str
    version: str
    build: str


def packages_on_executors(spark: SparkSession, names: Iterable[str]) -> set[PackageOnExecutor]:
    """Ask executors for their Python and for packages, by normalized name; raises what Spark does if they have none."""
    wanted, tasks = list(names), _tasks(spark)

    def ask(_: Iterable[int]) -> Iterable[tuple[str, str, str]]:
        import platform

        from graph_compiler.declaration.reached_code import installed_packages

        yield "Python", platform.python_version(), ""
        found = installed_packages(wanted)
        for name in wanted:
            each = found.get(name)
            yield (name, each.version, each.build) if each else (name, "not installed", "")

    numbers = spark.sparkContext.parallelize(range(tasks), tasks)
    return {PackageOnExecutor(*each) for each in numbers.mapPartitions(ask).distinct().collect()}


def _tasks(spark: SparkSession) -> int:
    return min(_MOST_TASKS, _TASKS_PER_CORE * spark.sparkContext.defaultParallelism)


def _without_python(said: str) -> ExecutorNotPreparedError | None:
    """Return the error of executors whose Python is missing or another one; None for any other failure."""
    hint = "set spark.pyspark.python to a Python that is on every host of the cluster, with the driver's minor version"
    if found := _NO_PYTHON.search(said):
        return ExecutorNotPreparedError(
            f"this task has Python functions, and Spark's executors have no {found['program']}\n  hint: {hint}"
        )
    if found := _OTHER_PYTHON.search(said):
        return ExecutorNotPreparedError(f"{found['words'].strip()}\n  hint: {hint}")
    return None
