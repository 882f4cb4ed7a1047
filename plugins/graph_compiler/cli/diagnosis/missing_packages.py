"""Schemes and formats of a pipeline whose packages this host's Spark does not have; a cluster's Spark may."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from graph_compiler.cli.running.embedded_airflow import EmbeddedAirflow
from graph_compiler.cli.running.local_spark import local_settings
from graph_compiler.declaration.connectors import FileConnector
from graph_compiler.declaration.operators import Operator, Sink, Source
from graph_compiler.driver_jvm.connector_packages import (
    is_on_class_path,
    package_of_format,
    package_of_scheme,
    spark_jars,
)
from graph_compiler.errors import Problem
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)


def find_missing_packages(
    compiled: CompiledPipeline, airflow: EmbeddedAirflow
) -> Iterator[Problem]:
    """Find sources, sinks and a staging root that need a package which no jar and no setting has.

    Raises ConfigurationError if the deployment's settings cannot be read.
    """
    jars, settings = spark_jars(), local_settings(compiled, airflow)

    def missing(package: str | None) -> bool:
        return package is not None and not is_on_class_path(package, jars, settings)

    staging = _SCHEME.match(airflow.staging_root)
    if staging is not None and missing(package := package_of_scheme(staging[1], jars)):
        yield _problem(f"the staging root is in {staging[1]}:", package)
    for node in compiled.stream_graph.nodes:
        for words, package in _needed(node.operator, jars):
            if missing(package):
                found = _problem(words, package)
                yield replace(found, operator=node.declared_name, declared_at=node.declared_at)


def _needed(operator: Operator, jars: Path | None) -> Iterator[tuple[str, str | None]]:
    """Yield what a source or sink of files needs, and the package that has it, if it is one of its own."""
    if not isinstance(operator, Source | Sink) or not isinstance(operator.connector, FileConnector):
        return
    connector = operator.connector
    verb = "reads" if isinstance(operator, Source) else "writes"
    if scheme := _SCHEME.match(connector.path):
        yield f"it {verb} {scheme[1]}:", package_of_scheme(scheme[1], jars)
    format = connector.spark_format
    yield f"it {verb} format {format}", package_of_format(format, jars)


def _problem(words: str, package: str | None) -> Problem:
    return Problem(
        message=f"{words}, and Spark on this host does not have {package}",
        hint="set spark.jars.packages, or put its jars beside those of Spark; a cluster's Spark may have it already",
    )
