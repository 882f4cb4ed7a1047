"""What a person writes down: streams, operators, connectors, and the frozen values they become."""

from graph_compiler.declaration.connectors import (
    Connector,
    Csv,
    FileConnector,
    Files,
    FunctionSource,
    Jdbc,
    Json,
    Orc,
    Parquet,
    Range,
    Secret,
    Table,
    Text,
    Values,
)
from graph_compiler.declaration.data_stream import DataStream, DataStreamSink, KeyedStream
from graph_compiler.declaration.environment import StreamExecutionEnvironment
from graph_compiler.declaration.functions import FunctionRef
from graph_compiler.declaration.pipeline import Pipeline

__all__ = [
    "Connector",
    "Csv",
    "DataStream",
    "DataStreamSink",
    "FileConnector",
    "Files",
    "FunctionRef",
    "FunctionSource",
    "Jdbc",
    "Json",
    "KeyedStream",
    "Orc",
    "Parquet",
    "Pipeline",
    "Range",
    "Secret",
    "StreamExecutionEnvironment",
    "Table",
    "Text",
    "Values",
]
