"""Declared Spark pipelines, compiled to Airflow tasks the way Flink compiles programs.

    from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

Importing this loads the standard library and the declaration API only: neither airflow nor pyspark.
"""

from graph_compiler.declaration import (
    Csv,
    DataStream,
    DataStreamSink,
    KeyedStream,
    Parquet,
    ResourceSpec,
    SlotSharingGroup,
    StreamExecutionEnvironment,
)
from graph_compiler.errors import GraphCompilerError, InvalidPipelineError

__all__ = [
    "Csv",
    "DataStream",
    "DataStreamSink",
    "GraphCompilerError",
    "InvalidPipelineError",
    "KeyedStream",
    "Parquet",
    "ResourceSpec",
    "SlotSharingGroup",
    "StreamExecutionEnvironment",
]
