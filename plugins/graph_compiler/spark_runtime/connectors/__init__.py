"""Connectors on Spark: `read_source` returns rows, `open_sink` writes them.

A kind of connector names the modules that register how it is read (`source.read`) and written (`sink.claim_target`).
They are imported when the first connector of the kind is used. The built-in ones:

file_source typed_files file_schemas file_sink    all file formats
jdbc_source jdbc_sink                 databases
table                                 Spark's catalog
lake/iceberg_source lake/iceberg_sink tables of Iceberg
lake/delta                            tables of Delta Lake
memory                                values, ranges, functions
"""

from graph_compiler.spark_runtime.connectors.sink import (
    OpenSink,
    PreparedSink,
    SinkContext,
    SinkOpener,
    check_without_target,
    open_sink,
)
from graph_compiler.spark_runtime.connectors.source import read_source

__all__ = ["OpenSink", "PreparedSink", "SinkContext", "SinkOpener", "check_without_target", "open_sink", "read_source"]
