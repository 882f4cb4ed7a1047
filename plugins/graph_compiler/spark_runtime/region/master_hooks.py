"""The driver's checks before any data moves: inputs must exist, targets must be creatable.

All vertices of the region are checked, and all problems are reported at once: three missing inputs are one failure.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from pyspark.sql import SparkSession

from graph_compiler.declaration.connectors import FileConnector
from graph_compiler.declaration.connectors.file_uris import local_path
from graph_compiler.declaration.coordination import MasterHook
from graph_compiler.declaration.operators import Sink, Source
from graph_compiler.deployment.documents.descriptor import OperatorDescriptor, VertexDescriptor
from graph_compiler.errors import InitializeOnMasterError, Problem
from graph_compiler.spark_runtime.failures.missing_inputs import does_not_exist
from graph_compiler.spark_runtime.publishing.targets import why_no_folder
from graph_compiler.spark_runtime.spark_internals.hadoop_files import unmatched_path
from graph_compiler.staging.publications.on_disk.mounts import preparation_folder

Blaming = Callable[[OperatorDescriptor], AbstractContextManager[None]]
"""Sets the current operator: errors raised within the block are attributed to it."""
Look = Callable[[str, SparkSession], str | None]
"""Checks a path; returns the problem, or None."""


def initialize_on_master(
    vertices: tuple[VertexDescriptor, ...], spark: SparkSession, blaming: Blaming
) -> None:
    """Run the hooks of all vertices; raises InitializeOnMasterError with all problems."""
    problems = []
    for vertex in vertices:
        by_id = {operator.operator_id: operator for operator in vertex.operators}
        for initialization in vertex.initialize_on_master:
            operator = by_id[initialization.operator_id]
            with blaming(operator):
                words = HOOKS[initialization.hook](_path(operator), spark)
            if words:
                problems.append(
                    Problem(operator=operator.name, message=words, declared_at=operator.declared_at)
                )
    if problems:
        raise InitializeOnMasterError(problems)


def _input_exists(path: str, spark: SparkSession) -> str | None:
    missing = unmatched_path(spark, path)
    return None if missing is None else does_not_exist(missing)


def _target_can_be_made(path: str, _: SparkSession) -> str | None:
    target = _target(path)
    if wrong := why_no_folder(target):
        return f"its target {target} {wrong}; allowed: a folder, or a path that does not exist"
    # Rows are prepared in a folder beside the target, so the parent must be writable even if the target exists.
    nearest = next(folder for folder in preparation_folder(target).parents if folder.exists())
    if not nearest.is_dir():
        return f"its target {target} cannot be made: {nearest} is a file"
    closed = [folder for folder in (nearest, target) if folder.exists() and not _is_open(folder)]
    return (
        f"its target {target} cannot be written: no permission for {closed[0]}" if closed else None
    )


HOOKS: Mapping[MasterHook, Look] = {
    MasterHook.INPUT_EXISTS: _input_exists,
    MasterHook.TARGET_CAN_BE_MADE: _target_can_be_made,
}


def _path(operator: OperatorDescriptor) -> str:
    assert isinstance(operator.operator, Source | Sink), "what has a place has a hook"
    connector = operator.operator.connector
    assert isinstance(connector, FileConnector), "the same"
    return connector.path


def _target(path: str) -> Path:
    local = local_path(path)
    assert local is not None, "places were checked before the descriptor was written"
    return Path(local)


def _is_open(folder: Path) -> bool:
    return os.access(folder, os.W_OK | os.X_OK)
