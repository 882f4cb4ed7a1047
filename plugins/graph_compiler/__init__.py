"""Declared Spark pipelines, compiled to Airflow tasks the way Flink compiles programs.

    from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

Importing this loads the standard library and the declaration API only: neither airflow nor pyspark.
"""

from graph_compiler.declaration import (
    ConnectedStreams,
    Csv,
    DataStream,
    DataStreamSink,
    EventTimeSessionWindows,
    Files,
    FunctionSource,
    Jdbc,
    Json,
    KeyedStream,
    Orc,
    Parquet,
    Range,
    ResourceSpec,
    Schedule,
    Secret,
    SlidingEventTimeWindows,
    SlotSharingGroup,
    StreamExecutionEnvironment,
    Table,
    Text,
    TumblingEventTimeWindows,
    Values,
    WindowedStream,
)
from graph_compiler.errors import GraphCompilerError, InvalidPipelineError

__all__ = [
    "ConnectedStreams",
    "Csv",
    "DataStream",
    "DataStreamSink",
    "EventTimeSessionWindows",
    "Files",
    "FunctionSource",
    "GraphCompilerError",
    "InvalidPipelineError",
    "Jdbc",
    "Json",
    "KeyedStream",
    "Orc",
    "Parquet",
    "Range",
    "ResourceSpec",
    "Schedule",
    "Secret",
    "SlidingEventTimeWindows",
    "SlotSharingGroup",
    "StreamExecutionEnvironment",
    "Table",
    "Text",
    "TumblingEventTimeWindows",
    "Values",
    "WindowedStream",
]
