"""Where data comes from and goes to: frozen values that `spark_runtime/connectors/` reads and writes.

    Csv Parquet Json Orc Text Files    files of one format below a path; published all at once
    Jdbc                               a table or query of a database, read in input splits
    Table                              a table of Spark's catalog
    Iceberg                            a table of an Iceberg catalog, published by one commit
    Delta                              a table of Delta Lake, by its path, the same
    Kafka                              topics, as a stream, or from one offset to another
    Rate                               numbers that never end, for tests
    Values Range FunctionSource        rows in the declaration, and rows that a function returns
    FunctionSink                       rows that a function is called with

Jinja is only rendered in paths, names, bounds and option values (decision 24); a `Secret` is never rendered.
To add one, here or in your own package: CONTRIBUTING.md.
"""

from graph_compiler.declaration.connectors.connector import (
    Connector,
    IfMissing,
    OnMisfit,
    OnSchemaChange,
    Options,
    SinkMode,
    WhenReadTwice,
)
from graph_compiler.declaration.connectors.delta import Delta
from graph_compiler.declaration.connectors.files import Csv, FileConnector, Files, Json, Orc, Parquet, RecordFiles, Text
from graph_compiler.declaration.connectors.iceberg import Iceberg
from graph_compiler.declaration.connectors.jdbc import Jdbc
from graph_compiler.declaration.connectors.kafka import Kafka
from graph_compiler.declaration.connectors.memory import FunctionSink, FunctionSource, Range, Rate, SinkRun, Values
from graph_compiler.declaration.connectors.secret import Secret, SecretText
from graph_compiler.declaration.connectors.table import Table

__all__ = [
    "Connector",
    "Csv",
    "Delta",
    "FileConnector",
    "Files",
    "FunctionSink",
    "FunctionSource",
    "Iceberg",
    "IfMissing",
    "Jdbc",
    "Json",
    "Kafka",
    "OnMisfit",
    "OnSchemaChange",
    "Options",
    "Orc",
    "Parquet",
    "Range",
    "Rate",
    "RecordFiles",
    "Secret",
    "SecretText",
    "SinkMode",
    "SinkRun",
    "Table",
    "Text",
    "Values",
    "WhenReadTwice",
]
