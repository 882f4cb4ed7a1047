"""Calls to a Hadoop file system, and its exceptions as those of Python.

    FileNotFoundException                   FileNotFoundError
    FileAlreadyExistsException              FileExistsError
    AccessDeniedException                   PermissionError
    anything else, also of the connection   OSError

`org.apache.hadoop.fs.FileSystem` is public API: Hadoop 3.4.2 and later.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from graph_compiler.errors import StagingError
from graph_compiler.spark_runtime.spark_internals.java import Py4JError, Py4JJavaError, connected_jvm, java_exceptions
from graph_compiler.stores.known_stores import store_kinds

_NO_CLASS = "java.lang.ClassNotFoundException: Class org.apache.hadoop.fs."
_ERRORS = {
    "FileNotFoundException": errno.ENOENT,
    "NoSuchFileException": errno.ENOENT,
    "FileAlreadyExistsException": errno.EEXIST,
    "AccessDeniedException": errno.EACCES,
    "AccessControlException": errno.EACCES,
}


@contextmanager
def java_errors(key: str) -> Iterator[None]:
    """Raise Python's OSError for what Java throws in the block."""
    try:
        yield
    except Py4JJavaError as error:
        raise _as_python(error, key) from error
    except Py4JError as error:
        raise OSError(errno.EIO, f"Spark's JVM does not answer: {error}", key) from error


def _as_python(error: Py4JJavaError, key: str) -> OSError:
    thrown = java_exceptions(error)
    names = [str(each.getClass().getSimpleName()) for each in thrown]
    number = next((_ERRORS[name] for name in names if name in _ERRORS), errno.EIO)
    words = str(thrown[0].toString()) if thrown else str(error)
    return OSError(number, words.splitlines()[0], key)


def file_system(place: str, settings: dict[str, str]) -> tuple[Any, Callable[[str], Any]]:
    """Return Hadoop's file system of a place with these settings, and its class of paths.

    It is a new one: that of the cache, which Spark reads and writes with, keeps its own settings. Raises StagingError
    if Spark does not have it, OSError if it cannot be opened.
    """
    jvm = connected_jvm()
    path = jvm.org.apache.hadoop.fs.Path
    with java_errors(place):
        spark = jvm.org.apache.spark.deploy.SparkHadoopUtil.get()
        configuration = spark.newConfiguration(jvm.org.apache.spark.SparkConf())
        for name, value in settings.items():
            configuration.set(name, value)
        where = path(place)
        try:
            opened = jvm.org.apache.hadoop.fs.FileSystem.newInstance(where.toUri(), configuration)
        except Py4JJavaError as error:
            if any(_NO_CLASS in str(each.toString()) for each in java_exceptions(error)):
                raise _no_file_system(place) from error
            raise
        return opened, path


def _no_file_system(place: str) -> StagingError:
    from graph_compiler.driver_jvm import installation as known  # most drivers need none

    scheme = place.partition(":")[0]
    package = known.package_of_scheme(scheme, known.spark_jars())
    return StagingError(f"this Spark has no file system for {scheme}:\n  hint: {known.add_package(package)}")


# The keys with which this process reaches stores, as settings that executors get.
#
# Spark sends its driver's keys to executors with each job. Before the first one, they fetch the code of functions and
# named files, with the settings of the application alone: they need the keys there. Spark passes its settings to
# executors in a message, and hides these in its UI and event log.
#
# Local executors have the driver's variables. YARN copies files to its hosts itself, and writes settings to a disk.

_NEED_NONE = ("local", "yarn")


def executor_keys(submitted: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return settings for a session; none of a store for which the deployment has set one, or where not needed."""
    if submitted.get("spark.master", "").startswith(_NEED_NONE):
        return {}
    found: dict[str, str] = {}
    for kind in store_kinds():
        if not submitted.keys() & {*dict(kind.key_settings).values(), *kind.no_key_settings}:
            found |= {key: environment[name] for name, key in kind.key_settings if environment.get(name)}
    return found
