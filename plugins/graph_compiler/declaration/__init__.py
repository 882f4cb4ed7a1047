"""What a person writes down: streams, operators, connectors, and the frozen values they become."""

from graph_compiler.declaration.connectors import Csv, FileConnector, Parquet
from graph_compiler.declaration.environment import StreamExecutionEnvironment
from graph_compiler.declaration.functions import FunctionRef
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.declaration.resources import ResourceSpec
from graph_compiler.declaration.slot_sharing import SlotSharingGroup
from graph_compiler.declaration.streams import (
    ConnectedStreams,
    DataStream,
    DataStreamSink,
    KeyedStream,
    WindowedStream,
)
from graph_compiler.declaration.windows import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)

__all__ = [
    "ConnectedStreams",
    "Csv",
    "DataStream",
    "DataStreamSink",
    "EventTimeSessionWindows",
    "FileConnector",
    "FunctionRef",
    "KeyedStream",
    "Parquet",
    "Pipeline",
    "ResourceSpec",
    "SlidingEventTimeWindows",
    "SlotSharingGroup",
    "StreamExecutionEnvironment",
    "TumblingEventTimeWindows",
    "WindowedStream",
]
