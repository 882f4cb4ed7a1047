"""Problems of a single connector: its schema, its secrets, and those that its kind finds itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from inspect import isfunction

from graph_compiler.declaration.call_checks import problems_at
from graph_compiler.declaration.connectors import (
    Connector,
    FileConnector,
    IfMissing,
    OnSchemaChange,
    RecordFiles,
    SinkMode,
)
from graph_compiler.declaration.connectors.file_uris import RELATIVE, store_part, why_not_local
from graph_compiler.declaration.connectors.files import TABLE_FORMATS, UNTYPED
from graph_compiler.declaration.operators import Operator, Sink, Source
from graph_compiler.declaration.parameters.parameter import ParameterValue
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.declaration.transformations import PhysicalTransformation, problem_at
from graph_compiler.errors import Problem
from graph_compiler.extensions import is_foreign, reference, why_not_registered
from graph_compiler.identifiers import did_you_mean, listing, shown

_TEMPLATE = re.compile(r"\{\{|\{%|\{#")
# The keys that Spark itself hides in plans and logs (spark.redaction.regex).
_SENSITIVE = re.compile(r"secret|password|token|access[.]?key", re.IGNORECASE)


def connectors_of(pipeline: Pipeline) -> Iterator[tuple[PhysicalTransformation, Connector]]:
    """Yield every source and sink with its connector, except those whose connector is not one."""
    for transformation in pipeline.operators:
        operator = transformation.operator
        if isinstance(operator, Source | Sink) and isinstance(operator.connector, Connector):
            yield transformation, operator.connector


def not_connectors(pipeline: Pipeline) -> Iterator[Problem]:
    """Find sources and sinks whose connector is another kind of value: a path, a DataFrame."""
    for transformation in pipeline.operators:
        operator = transformation.operator
        if isinstance(operator, Source | Sink) and not isinstance(operator.connector, Connector):
            found: object = operator.connector
            kind = "FunctionSource" if isinstance(operator, Source) else "FunctionSink"
            words = f"the function '{found.__name__}'" if isfunction(found) else shown(found)
            yield problem_at(
                transformation,
                f"{words} is not a connector",
                allowed="Parquet(path), Csv(path), Jdbc(url, table=…), …",
                hint=f"{kind}({found.__name__})" if isfunction(found) else None,
            )


def connectors(pipeline: Pipeline) -> Iterator[Problem]:
    """Find the problems of each connector."""
    for transformation, connector in connectors_of(pipeline):
        yield from _unreadable(transformation, connector)
        yield from _schemas(transformation, connector)
        yield from _misfits(transformation, connector)
        yield from _missing(transformation, connector)
        yield from _secrets(transformation, connector)
        yield from problems_at(transformation, connector)


def _unreadable(transformation: PhysicalTransformation, connector: Connector) -> Iterator[Problem]:
    if isinstance(transformation.operator, Source) and (reason := connector.why_not_readable()):
        files, others = "Csv, Parquet, Json, Orc, Text, Files", "Table, FunctionSource, Values, Range, Rate"
        yield problem_at(transformation, reason, allowed=f"{files}, Jdbc, Iceberg, Delta, Kafka, {others}")


def positions(pipeline: Pipeline) -> Iterator[Problem]:
    """Find sources that read only what is new, and whose position would be lost, or never move."""
    for transformation, sinks in _sinks_behind(pipeline):
        if transformation.settings.uid is None:
            yield problem_at(
                transformation,
                "it reads only what is new, and has no uid: a change of the pipeline could lose its position",
                allowed='.uid("orders"); in YAML, uid: orders',
            )
        if not sinks:
            yield problem_at(
                transformation,
                "it reads only what is new, and no sink writes its rows: its position moves when they are published",
                hint="end a stream that reads it with sink_to(…)",
            )


def overwritten_increments(pipeline: Pipeline) -> Iterator[Problem]:
    """Find sinks that replace their target with the rows of an increment."""
    for source, sinks in _sinks_behind(pipeline):
        for sink in sinks:
            if isinstance(sink.operator, Sink) and sink.operator.mode is SinkMode.OVERWRITE:
                yield problem_at(
                    sink,
                    f"it replaces its target, and '{source.name}' has only the rows that are new: after each run, the "
                    "target holds the rows of one increment",
                    allowed="mode='append' or 'merge', if rows of earlier runs stay",
                )


def _sinks_behind(pipeline: Pipeline) -> Iterator[tuple[PhysicalTransformation, list[PhysicalTransformation]]]:
    """Yield each source that has a position, with the sinks that read it, directly or through others."""
    readers: dict[int, list[int]] = {}
    for each in pipeline.transformations:
        for id in each.inputs:
            readers.setdefault(id, []).append(each.id)
    for source in pipeline.operators:
        if isinstance(source.operator, Source) and source.operator.has_position:
            reached, pending = {source.id}, [source.id]
            while pending:
                new = [id for id in readers.get(pending.pop(), ()) if id not in reached]
                reached.update(new)
                pending += new
            yield (
                source,
                [each for each in pipeline.operators if each.id in reached and isinstance(each.operator, Sink)],
            )


def _schemas(operator: PhysicalTransformation, connector: Connector) -> Iterator[Problem]:
    schema, policy = connector.schema, connector.on_schema_change
    example = "Spark DDL: carrier STRING NOT NULL, delay INT"
    if schema is not None and not schema.strip():
        yield problem_at(operator, "its schema is empty", allowed=example)
    elif schema is not None and _TEMPLATE.search(schema):
        yield problem_at(operator, f"its schema '{schema}' contains a template", allowed=example)
    if policy is not None and policy not in set(OnSchemaChange):
        yield problem_at(
            operator,
            f"on_schema_change is '{policy}'",
            allowed=listing(OnSchemaChange),
            hint=did_you_mean(str(policy), OnSchemaChange),
        )
    elif policy is not None and schema is None and isinstance(operator.operator, Source):
        yield problem_at(
            operator,
            f"on_schema_change is '{policy}', but no schema is declared",
            hint="declare schema=, or leave it out",
        )


def _misfits(operator: PhysicalTransformation, connector: Connector) -> Iterator[Problem]:
    """Find `on_misfit` and `rejects` on a sink, and what said both until 0.2: columns, and values that do not fit."""
    if not isinstance(connector, RecordFiles):
        return
    set_names = [name for name in ("on_misfit", "rejects") if getattr(connector, name) is not None]
    if isinstance(operator.operator, Sink):
        for name in set_names:
            yield problem_at(operator, f"{name} is for sources; this is a sink", hint=f"leave out {name}")
        return
    says_both = connector.on_schema_change == OnSchemaChange.IGNORE and connector.schema is not None
    if says_both and not set_names and connector.spark_format.lower() in UNTYPED:
        yield problem_at(
            operator,
            "on_schema_change='ignore' applies only to columns; values that do not fit no longer become NULL",
            allowed='on_misfit="null" with it, as before; on_misfit="fail"; or rejects="bad", a side output',
        )


def _missing(operator: PhysicalTransformation, connector: Connector) -> Iterator[Problem]:
    """Find `if_missing` on a sink, without the columns that no file shows, and where nothing may be missing."""
    if not isinstance(connector, FileConnector) or connector.if_missing is None:
        return
    if isinstance(operator.operator, Sink):
        yield problem_at(operator, "if_missing is for sources; this is a sink", hint="leave out if_missing")
        return
    if connector.if_missing != IfMissing.EMPTY:
        return
    if connector.schema is None:
        yield problem_at(
            operator,
            "if_missing is 'empty', but no schema is declared",
            allowed="a schema with it: a path without files shows no columns",
            hint="declare schema=, or leave out if_missing",
        )
    if connector.spark_format.lower() in TABLE_FORMATS:
        message = f"if_missing is 'empty', and a {connector.spark_format} table that is missing has no version to read"
        yield problem_at(operator, message, hint="leave out if_missing")
    for path in connector.paths:
        if path.strip() and (wrong := why_not_local(path)) == RELATIVE:
            yield problem_at(
                operator,
                f"if_missing is 'empty', and its path '{path}' is {wrong}: it depends on the driver's folder",
                allowed="an absolute path or a URI",
            )


def _secrets(operator: PhysicalTransformation, connector: Connector) -> Iterator[Problem]:
    for field, secret in connector.secrets().items():
        names = (secret.conn_id, secret.field)
        if not all(isinstance(name, str) and name.strip() for name in names):
            yield problem_at(operator, f"its {field} is {secret!r}", allowed="Secret('conn', 'password')")
        elif any(_TEMPLATE.search(name) for name in names):
            message = f"its {field} is {secret!r}: a secret is never rendered"
            yield problem_at(operator, message, allowed="a literal connection id")
    for field in connector.texts():
        if field.startswith("options.") and _SENSITIVE.search(field):
            yield problem_at(
                operator,
                f"option '{field.removeprefix('options.')}' holds a secret in plain text",
                allowed="Secret('connection id', 'password')",
                hint="anyone who can see the code, the task or its logs could read it",
            )


_FIRST_PARAMETER = re.compile(r"^\{\{\s*params\.(\w+)\s*\}\}")
_BEGINS_WITH_TEMPLATE = re.compile(r"(file:(//)?)?\{[{%#]", re.IGNORECASE)


def beginning(path: str, defaults: Mapping[str, ParameterValue]) -> str | None:
    """Return a path with its first parameter's default; None if it starts with another template."""
    begins = _FIRST_PARAMETER.sub(lambda found: str(defaults.get(found[1], "/")), path)
    return None if _BEGINS_WITH_TEMPLATE.match(begins) else begins


def stores_of(pipeline: Pipeline, staging_root: str) -> tuple[str, ...]:
    """Return the buckets and file systems that a pipeline's runs use: `s3a://lake`; in the order of declaration."""
    defaults = dict(pipeline.params)
    begins = [
        beginning(path, defaults)
        for _, connector in connectors_of(pipeline)
        if isinstance(connector, FileConnector)
        for path in connector.paths
    ]
    found = (store_part(place) for place in (staging_root, *begins) if place is not None)
    return tuple(dict.fromkeys(store for store in found if store is not None))


def unregistered_kinds(pipeline: Pipeline) -> Iterator[Problem]:
    """Find connectors and operators that Spark's driver could not find by name."""
    for transformation in pipeline.operators:
        operator = transformation.operator
        reasons: list[tuple[type[Connector | Operator], str | None]] = []
        if is_foreign(type(operator)):
            reasons.append((type(operator), why_not_registered(type(operator), Operator)))
        if isinstance(operator, Source | Sink) and isinstance(operator.connector, Connector):
            connector = type(operator.connector)
            if is_foreign(connector):
                reasons.append((connector, why_not_registered(connector, Connector)))
        for kind, reason in reasons:
            if reason is not None:
                yield problem_at(
                    transformation,
                    f"Spark's driver cannot find its {kind.__name__}: {reason}",
                    allowed=f'an entry point of {kind.entry_points}, as name = "{reference(kind)}"',
                )
