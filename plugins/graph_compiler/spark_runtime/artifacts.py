"""The files that a pipeline names, where functions find them: `SparkFiles.get("rates.csv")`, on driver and executors.

in local mode    driver and executors have one folder: a copy in it, which replaces that of an earlier pipeline
elsewhere        the driver adds it, and serves it to executors; in any deploy mode, `--files` would not reach a driver

Archives are arguments of spark-submit, since a driver in a cluster may have its Python in one; where nothing was
submitted, they are added here. Jars must be known when the JVM starts.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from pyspark import SparkFiles
from pyspark.sql import SparkSession

from graph_compiler.declaration.artifacts.user_artifact import ArtifactKind, UserArtifact
from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor

_ARCHIVES = ("spark.archives", "spark.yarn.dist.archives")


def add_artifacts(task: TaskDeploymentDescriptor, spark: SparkSession) -> None:
    """Let the functions of a task find its files and archives; the copies below the run's folder are there."""
    context = spark.sparkContext
    for artifact in task.region.artifacts:
        copy = Path(task.layout.artifact(artifact))
        match artifact.kind:
            case ArtifactKind.FILE if str(context.master).startswith("local"):
                _replace(copy, Path(SparkFiles.get(artifact.name)))
            case ArtifactKind.FILE:
                context.addFile(copy.as_uri())
            case ArtifactKind.ARCHIVE if not _is_submitted(artifact, spark):
                context.addArchive(f"{copy.as_uri()}#{artifact.name}")
                # Executors fetch it in their next task: a test removes the copy at its end.
                spark.range(1).count()


def _is_submitted(archive: UserArtifact, spark: SparkSession) -> bool:
    """Whether spark-submit was given an archive: Spark may have written its URI in another way."""
    conf, place = spark.sparkContext.getConf(), f"/{archive.version}/{archive.file_name}#"
    return any(place in (conf.get(key) or "") for key in _ARCHIVES)


def _replace(copy: Path, target: Path) -> None:
    """Put a file in place in one step: a function of another session may be reading the earlier one."""
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    shutil.copyfile(copy, beside)
    beside.replace(target)
