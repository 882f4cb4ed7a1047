"""Packages that a pipeline's schemes and formats need, and this host does not have; a cluster's Spark may have them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from graph_compiler.cli.running.embedded_airflow import EmbeddedAirflow
from graph_compiler.cli.running.local_spark import local_settings
from graph_compiler.compiler.checks.connector_checks import beginning
from graph_compiler.declaration.connectors import FileConnector
from graph_compiler.declaration.operators import Operator, Sink, Source
from graph_compiler.declaration.parameters.parameter import ParameterValue
from graph_compiler.driver_jvm.installation import is_on_class_path, package_of_format, package_of_scheme, spark_jars
from graph_compiler.errors import Problem, SourceLocation
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.identifiers import listing
from graph_compiler.stores.known_stores import kind_of_place

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Need:
    """A package, and what needs it: an operator, or the staging root."""

    package: str
    words: str
    operator: str | None = None
    declared_at: SourceLocation | None = None


def find_missing_packages(compiled: CompiledPipeline, airflow: EmbeddedAirflow) -> Iterator[Problem]:
    """Find packages that no jar and no setting has, each once: of the staging root, or with what else needs it.

    Raises ConfigurationError if the deployment's settings cannot be read.
    """
    jars, settings = spark_jars(), local_settings(compiled, airflow)
    missing: dict[str, list[_Need]] = {}
    for need in _needs(compiled, airflow.staging_root, jars):
        if not is_on_class_path(need.package, jars, settings):
            missing.setdefault(need.package, []).append(need)
    for package, (first, *others) in missing.items():
        yield Problem(
            message=f"{first.words}, and Spark on this host does not have {package}"
            + (_needed_too(others) if first.operator and others else ""),
            operator=first.operator,
            declared_at=first.declared_at,
            hint="set spark.jars.packages, or put its jars beside those of Spark; a cluster may already have it",
        )
    kind = kind_of_place(airflow.staging_root)
    if kind is not None and (needed := kind.python_package) is not None and find_spec(needed.module) is None:
        words = f"the staging root is in {kind.scheme}:, and this Python has no {needed.module}"
        yield Problem(message=words, hint=needed.install)


def _needed_too(others: Iterable[_Need]) -> str:
    names = dict.fromkeys(f"'{need.operator}'" for need in others)
    return f"; {listing(names)} {'needs' if len(names) == 1 else 'need'} it, too"


def _needs(compiled: CompiledPipeline, staging_root: str, jars: Path | None) -> Iterator[_Need]:
    if (root := _SCHEME.match(staging_root)) and (package := package_of_scheme(root[1], jars)):
        yield _Need(package=package, words=f"the staging root is in {root[1]}:")
    defaults = dict(compiled.pipeline.params)
    for node in compiled.stream_graph.nodes:
        for words, package in _needed(node.operator, defaults, jars):
            if package is not None:
                yield _Need(package=package, words=words, operator=node.declared_name, declared_at=node.declared_at)


def _needed(
    operator: Operator, defaults: Mapping[str, ParameterValue], jars: Path | None
) -> Iterator[tuple[str, str | None]]:
    """Yield what a source or sink of files needs, and the package that has it, if it is one of its own."""
    if not isinstance(operator, Source | Sink) or not isinstance(operator.connector, FileConnector):
        return
    connector = operator.connector
    verb = "reads" if isinstance(operator, Source) else "writes"
    found = (_SCHEME.match(beginning(path, defaults) or "") for path in connector.paths)
    for scheme in dict.fromkeys(each[1] for each in found if each):
        yield f"it {verb} {scheme}:", package_of_scheme(scheme, jars)
    format = connector.spark_format
    yield f"it {verb} format {format}", package_of_format(format, jars)
