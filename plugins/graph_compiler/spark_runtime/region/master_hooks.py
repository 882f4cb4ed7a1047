"""The driver's checks before any data moves: inputs must exist, targets must be creatable.

All vertices of the region are checked, and all problems are reported at once: three missing inputs are one failure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

from pyspark.sql import SparkSession

from graph_compiler.declaration.connectors import FileConnector
from graph_compiler.declaration.coordination import MasterHook
from graph_compiler.declaration.operators import Sink, Source
from graph_compiler.deployment.documents.descriptor import OperatorDescriptor, VertexDescriptor
from graph_compiler.errors import InitializeOnMasterError, Problem
from graph_compiler.spark_runtime.failures.missing_inputs import does_not_exist
from graph_compiler.spark_runtime.publishing.target_folder import open_target
from graph_compiler.spark_runtime.spark_internals.hadoop_files import unmatched_path

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
    folder = open_target(path)
    if wrong := folder.why_unfit():
        return (
            f"its target {folder.target} {wrong}; allowed: a folder, or a path that does not exist"
        )
    wrong = folder.why_not_writable()
    return None if wrong is None else f"its target {folder.target} {wrong}"


HOOKS: Mapping[MasterHook, Look] = {
    MasterHook.INPUT_EXISTS: _input_exists,
    MasterHook.TARGET_CAN_BE_MADE: _target_can_be_made,
}


def _path(operator: OperatorDescriptor) -> str:
    assert isinstance(operator.operator, Source | Sink), "what has a place has a hook"
    connector = operator.operator.connector
    assert isinstance(connector, FileConnector), "the same"
    return connector.path
