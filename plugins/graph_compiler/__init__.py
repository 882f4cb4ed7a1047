"""Declared Spark pipelines, compiled to Airflow tasks the way Flink compiles programs.

    from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

Importing this loads only the standard library and the declaration API: neither airflow nor pyspark.
"""

from graph_compiler.declaration import (
    AirflowArguments,
    ConnectedStreams,
    DataStream,
    DataStreamSink,
    EventTimeSessionWindows,
    KeyedStream,
    Merge,
    ResourceSpec,
    Schedule,
    SlidingEventTimeWindows,
    SlotSharingGroup,
    StreamExecutionEnvironment,
    TumblingEventTimeWindows,
    WindowedStream,
)
from graph_compiler.declaration.connectors import (
    Csv,
    Delta,
    Files,
    FunctionSink,
    FunctionSource,
    Iceberg,
    Jdbc,
    Json,
    Kafka,
    Orc,
    Parquet,
    Range,
    Rate,
    Secret,
    SinkRun,
    Table,
    Text,
    Values,
)
from graph_compiler.declaration.parameters.parameter import param
from graph_compiler.errors import GraphCompilerError, InvalidPipelineError

__all__ = [
    "AirflowArguments",
    "ConnectedStreams",
    "Csv",
    "DataStream",
    "DataStreamSink",
    "Delta",
    "EventTimeSessionWindows",
    "Files",
    "FunctionSink",
    "FunctionSource",
    "GraphCompilerError",
    "Iceberg",
    "InvalidPipelineError",
    "Jdbc",
    "Json",
    "Kafka",
    "KeyedStream",
    "Merge",
    "Orc",
    "Parquet",
    "Range",
    "Rate",
    "ResourceSpec",
    "Schedule",
    "Secret",
    "SinkRun",
    "SlidingEventTimeWindows",
    "SlotSharingGroup",
    "StreamExecutionEnvironment",
    "Table",
    "Text",
    "TumblingEventTimeWindows",
    "Values",
    "WindowedStream",
    "param",
]
