"""What connectors do on Spark, by `singledispatch`: `read_source` gives rows, `open_sink` takes them.

file_source file_schemas file_sink    all file formats
jdbc_source jdbc_sink                 databases
table                                 Spark's catalog
memory                                values, ranges, functions
"""

from graph_compiler.spark_runtime.connectors import (
    file_sink,
    file_source,
    jdbc_sink,
    jdbc_source,
    memory,
    table,
)
from graph_compiler.spark_runtime.connectors.sink import (
    OpenSink,
    PreparedSink,
    SinkContext,
    SinkOpener,
    check_without_target,
    open_sink,
    sink_registry,
)
from graph_compiler.spark_runtime.connectors.source import read_source, source_registry

REGISTERED = (file_source, file_sink, jdbc_source, jdbc_sink, table, memory)
"""The modules whose import registers them."""

__all__ = [
    "REGISTERED",
    "OpenSink",
    "PreparedSink",
    "SinkContext",
    "SinkOpener",
    "check_without_target",
    "open_sink",
    "read_source",
    "sink_registry",
    "source_registry",
]
