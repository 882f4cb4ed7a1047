"""The files that a pipeline names, where functions find them: `SparkFiles.get("rates.csv")`, on driver and executors.

in local mode    driver and executors have one folder: a copy in it, which replaces that of an earlier pipeline
elsewhere        the driver adds it, and serves it to executors; in any deploy mode, `--files` would not reach a driver

Archives are arguments of spark-submit, since a driver in a cluster may have its Python in one; where nothing was
submitted, they are added here. Jars must be known when the JVM starts, so they are arguments, too.

A driver gets its jars from a root in a store, but would give executors addresses at which there is nothing: of the %3A
of a run id, Spark makes a colon for some and not for others. So the driver does not add them; it serves its own copy.

In a pod, arguments are `local:` URIs (`DriverPlace.file_prefix`). Spark takes these for installed on every host, and
serves them to no executor: the driver adds the code of functions and the archives again, by their paths.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pyspark import SparkFiles
from pyspark.sql import SparkSession

from graph_compiler.declaration.artifacts.user_artifact import ArtifactKind
from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.targets.execution_target import spark_uri
from graph_compiler.spark_runtime.executor_probe import is_local
from graph_compiler.spark_runtime.spark_internals.java import add_jar, application_settings
from graph_compiler.staging.store.stores import store_of

_ARCHIVES = ("spark.archives", "spark.yarn.dist.archives")
_JARS = "spark.jars"
_CODE = "spark.files"
"""Where spark-submit puts --py-files, too; on YARN it does not, and uploads them."""
_INSTALLED = "local"
"""The scheme of URIs that Spark serves to no executor."""


def add_artifacts(task: TaskDeploymentDescriptor, spark: SparkSession) -> None:
    """Let the functions of a task find its files and archives; the copies below the run's folder are there."""
    context = spark.sparkContext
    has_threads = is_local(spark)
    for path in _paths(spark, _CODE, installed=True):
        if path.startswith(f"{task.layout.run}/"):
            context.addFile(spark_uri(path))
    for artifact in task.region.artifacts:
        copy = task.layout.artifact(artifact)
        match artifact.kind:
            case ArtifactKind.JAR if not (has_threads or copy.startswith("/")):
                served = Path(SparkFiles.get(artifact.name))
                _replace(copy, served)
                add_jar(spark, spark_uri(str(served)))
            case ArtifactKind.FILE if has_threads:
                _replace(copy, Path(SparkFiles.get(artifact.name)))
            case ArtifactKind.FILE:
                context.addFile(spark_uri(copy))
            case ArtifactKind.ARCHIVE if not _is_submitted(copy, spark):
                context.addArchive(f"{spark_uri(copy)}#{artifact.name}")
                # Executors fetch it in their next task: a test removes the copy at its end.
                spark.range(1).count()


def jars_not_below(run: str, submitted: Mapping[str, str]) -> dict[str, str]:
    """Return the setting of jars without those in a run's folder, if it has some: `add_artifacts` serves them."""
    named = submitted.get(_JARS, "").split(",")
    left = [each for each in named if not unquote(each).startswith(f"{run}/")]
    return {} if left == named else {_JARS: ",".join(left)}


def _is_submitted(copy: str, spark: SparkSession) -> bool:
    """Whether spark-submit was given an archive that executors get; Spark may have written its folder differently."""
    place = "/" + "/".join(copy.split("/")[-2:])
    paths = (path for key in _ARCHIVES for path in _paths(spark, key, installed=False))
    return any(path.endswith(place) for path in paths)


def _paths(spark: SparkSession, key: str, *, installed: bool) -> list[str]:
    """Return the paths of URIs in a setting, of those for installed files or of the others."""
    uris = map(urlsplit, application_settings(spark).get(key, "").split(","))
    return [unquote(uri.path) for uri in uris if (uri.scheme == _INSTALLED) is installed]


def _replace(copy: str, target: Path) -> None:
    """Put a file in place in one step: a function of another session may be reading the earlier one."""
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    if copy.startswith("/"):
        shutil.copyfile(copy, beside)
    else:
        content = store_of(copy).get(copy)
        if content is None:
            raise FileNotFoundError(errno.ENOENT, "it is gone", copy)
        beside.write_bytes(content)
    beside.replace(target)
