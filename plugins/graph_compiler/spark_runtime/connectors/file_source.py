"""Read files of any format that Spark has."""

from __future__ import annotations

from graph_compiler.declaration.connectors import FileConnector
from graph_compiler.spark_runtime.columns.declared_schema import parse_schema
from graph_compiler.spark_runtime.connectors.file_schemas import held_schema
from graph_compiler.spark_runtime.connectors.source import Found, Reading, read
from graph_compiler.spark_runtime.secret_values import reveal_all


@read.register
def _(connector: FileConnector, reading: Reading) -> Found:
    options = {**connector.read_options(), **connector.spark_options()}
    reader = reading.spark.read.format(connector.spark_format).options(**reveal_all(options))
    if connector.schema is None:
        rows = reader.load(connector.path)
        return Found(rows=rows, schema=rows.schema)
    declared = parse_schema(connector.schema)
    held = held_schema(connector, reading.spark, declared)
    return Found(rows=reader.schema(held).load(connector.path), schema=held)
