"""Read files of any format that Spark has."""

from __future__ import annotations

from graph_compiler.declaration.connectors import FileConnector
from graph_compiler.declaration.connectors.files import SchemaInFiles
from graph_compiler.spark_runtime.columns.declared_schema import parse_schema
from graph_compiler.spark_runtime.connectors.file_schemas import held_schema
from graph_compiler.spark_runtime.connectors.source import Found, Reading, read
from graph_compiler.spark_runtime.connectors.typed_files import TypedFiles, no_columns, or_no_files
from graph_compiler.spark_runtime.secret_values import reveal_all


@read.register
def _(connector: FileConnector, reading: Reading) -> Found:
    options = reveal_all({**connector.read_options(), **connector.spark_options()})
    if connector.schema_in_files is SchemaInFiles.TYPES:
        return _typed(connector, reading, options)
    reader = reading.spark.read.format(connector.spark_format).options(**options)
    if connector.schema is None:
        rows = or_no_files(lambda: reader.load(connector.path))
        if rows is None or not rows.columns:
            raise no_columns(connector.path)
        return Found(rows=rows, schema=rows.schema)
    declared = parse_schema(connector.schema)
    held = held_schema(connector, reading.spark, declared)
    return Found(rows=reader.schema(held).load(connector.path), schema=held)


def _typed(connector: FileConnector, reading: Reading, options: dict[str, str]) -> Found:
    files = TypedFiles(
        spark=reading.spark,
        format=connector.spark_format.lower(),
        options=options,
        where=(connector.path,),
    )
    if connector.schema is None:
        part = files.one_schema(None)
        if part is None:
            raise no_columns(connector.path)
        return Found(rows=part.rows, schema=part.schema)
    declared = parse_schema(connector.schema)
    parts = files.parts(declared) or (files.empty(declared),)
    first, *others = parts
    return Found(
        rows=first.rows,
        schema=first.schema,
        others=tuple(others),
        origin=files.origin(parts, declared),
    )
