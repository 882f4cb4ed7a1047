"""What a person writes down: streams, operators, connectors, and the frozen values they become."""

from graph_compiler.declaration.connectors import Csv, FileConnector, Parquet
from graph_compiler.declaration.data_stream import DataStream, DataStreamSink, KeyedStream
from graph_compiler.declaration.environment import StreamExecutionEnvironment
from graph_compiler.declaration.functions import FunctionRef
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.declaration.resources import ResourceSpec
from graph_compiler.declaration.slot_sharing import SlotSharingGroup

__all__ = [
    "Csv",
    "DataStream",
    "DataStreamSink",
    "FileConnector",
    "FunctionRef",
    "KeyedStream",
    "Parquet",
    "Pipeline",
    "ResourceSpec",
    "SlotSharingGroup",
    "StreamExecutionEnvironment",
]
