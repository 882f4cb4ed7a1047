"""What `validate --live` finds: each source and sink of Iceberg and Delta is compared with its table, without Spark.

Another process asks the tables (`lake_metadata/table_process.py`). What could not be asked is no problem of a pipeline:
it has a reason, which is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from graph_compiler.cli.running.airflow_answers import SecretsFound, find_secrets
from graph_compiler.cli.running.embedded_airflow import EmbeddedAirflow
from graph_compiler.cli.running.local_spark import local_settings
from graph_compiler.compiler.checks.column_checks import column_flow
from graph_compiler.compiler.checks.connector_checks import connectors_of
from graph_compiler.declaration.call_checks import located
from graph_compiler.declaration.connectors.connector import Connector, as_pairs
from graph_compiler.declaration.connectors.iceberg import Iceberg
from graph_compiler.declaration.connectors.jdbc_templates import TEMPLATE
from graph_compiler.declaration.connectors.secret import Secret
from graph_compiler.declaration.operators.endpoints import PreviousVersion
from graph_compiler.declaration.transformations import PhysicalTransformation
from graph_compiler.errors import Problem
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.lake_metadata.catalog_properties import properties_in_settings
from graph_compiler.lake_metadata.table_checks import table_problems, why_not_compared
from graph_compiler.lake_metadata.table_process import ask_tables
from graph_compiler.lake_metadata.table_state import NotLookedAt, TableAnswer, TableState, TableWanted

_OF_A_RUN = ("version", "timestamp", "since")
"""Settings of a source that choose a version; a run fills in a template in them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLook:
    """What was found of the table of one operator; the reasons say why it, or its columns, were not looked at."""

    operator: str
    place: str
    state: TableState | None
    why_not: str | None
    why_no_columns: str | None
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """An operator whose table is asked, as the place of its question; or why it is not."""

    transformation: PhysicalTransformation
    connector: Connector
    wanted: TableWanted | None
    why_not: str | None = None


def look_at_tables(pipelines: Iterable[CompiledPipeline], airflow: EmbeddedAirflow) -> list[tuple[TableLook, ...]]:
    """Ask all tables of pipelines, each once; return what was found for each pipeline.

    Raises ConfigurationError if the deployment's settings cannot be read.
    """
    compiled = list(pipelines)
    secrets = find_secrets(
        airflow, (secret for each in compiled for _, table in _tables(each) for secret in table.secrets().values())
    )
    asked = [list(_asked(each, airflow, secrets)) for each in compiled]
    wanted = list(dict.fromkeys(each.wanted for one in asked for each in one if each.wanted is not None))
    hidden = {secret.variable for each in compiled for _, table in _tables(each) for secret in table.secrets().values()}
    values = [value for variable, value in secrets.values.items() if variable in hidden]
    answers = dict(zip(wanted, ask_tables(wanted, values, airflow.child_environment()), strict=True))
    return [tuple(_looks(each, one, answers)) for each, one in zip(compiled, asked, strict=True)]


def _tables(compiled: CompiledPipeline) -> Iterator[tuple[PhysicalTransformation, Connector]]:
    """Yield the sources and sinks of tables; the previous version of a target need not exist."""
    for transformation, connector in connectors_of(compiled.pipeline):
        if connector.table_format is not None and not isinstance(transformation.operator, PreviousVersion):
            yield transformation, connector


def _asked(compiled: CompiledPipeline, airflow: EmbeddedAirflow, secrets: SecretsFound) -> Iterator[_Asked]:
    settings = local_settings(compiled, airflow)
    for transformation, connector in _tables(compiled):
        plain = _without_templates_of_versions(connector)
        why_not = _why_not_asked(plain, secrets)
        wanted = None
        if why_not is None:
            wanted = TableWanted(connector=plain, properties=_properties(plain, settings, secrets))
        yield _Asked(transformation=transformation, connector=connector, wanted=wanted, why_not=why_not)


def _without_templates_of_versions(connector: Connector) -> Connector:
    """Return a connector that reads what readers see, if only a run knows which version it reads."""
    changes = {name: None for name in _OF_A_RUN if TEMPLATE.search(str(getattr(connector, name, "")))}
    return replace(connector, **changes)


def _why_not_asked(connector: Connector, secrets: SecretsFound) -> str | None:
    """Return why a table cannot be asked, None if it can."""
    if rendered := [name for name, text in connector.texts().items() if TEMPLATE.search(text)]:
        return f"its {rendered[0]} has a template, which a run fills in"
    missing = (secrets.missing.get(secret.variable) for secret in connector.secrets().values())
    return next(filter(None, missing), None)


def _properties(
    connector: Connector, settings: Mapping[str, str], secrets: SecretsFound
) -> tuple[tuple[str, str], ...]:
    """Return the properties of a catalog: those of Spark's settings, and the declared ones, with values of secrets."""
    if not isinstance(connector, Iceberg):
        return ()
    found = properties_in_settings(settings, connector.catalog_name)
    for key, value in as_pairs(connector.catalog):
        found[key] = secrets.values[value.variable] if isinstance(value, Secret) else value
    return tuple(sorted(found.items()))


def _looks(
    compiled: CompiledPipeline, asked: Iterable[_Asked], answers: Mapping[TableWanted, TableAnswer]
) -> Iterator[TableLook]:
    given = column_flow(compiled.pipeline).given
    for each in asked:
        operator = each.transformation.operator
        answer = NotLookedAt(str(each.why_not)) if each.wanted is None else answers[each.wanted]
        if isinstance(answer, TableState) and each.wanted is not None and each.wanted.connector != each.connector:
            answer = replace(answer, read=None)
        columns = next(iter(given[each.transformation.id]), None)
        problems = table_problems(operator, answer, columns)
        yield TableLook(
            operator=each.transformation.name,
            place=str(each.connector.place),
            state=answer if isinstance(answer, TableState) else None,
            why_not=answer.why if isinstance(answer, NotLookedAt) else None,
            why_no_columns=why_not_compared(operator, answer, columns),
            problems=tuple(located(each.transformation, problem) for problem in problems),
        )
