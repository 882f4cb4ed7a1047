"""The declaration of a pipeline: streams, operators, connectors, and the frozen values they become.

Connectors are imported from `declaration/connectors/`, which lists them once.
"""

from graph_compiler.declaration.dag.airflow_arguments import AirflowArguments
from graph_compiler.declaration.dag.schedule import Schedule
from graph_compiler.declaration.environment import StreamExecutionEnvironment
from graph_compiler.declaration.functions import FunctionRef
from graph_compiler.declaration.operators.merge import Merge
from graph_compiler.declaration.operators.process_functions import (
    KeyedProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.declaration.resources.resource_spec import ResourceSpec
from graph_compiler.declaration.resources.slot_sharing_group import SlotSharingGroup
from graph_compiler.declaration.streams import ConnectedStreams, DataStream, DataStreamSink, KeyedStream, WindowedStream
from graph_compiler.declaration.windows import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)

__all__ = [
    "AirflowArguments",
    "ConnectedStreams",
    "DataStream",
    "DataStreamSink",
    "EventTimeSessionWindows",
    "FunctionRef",
    "KeyedProcessFunction",
    "KeyedStream",
    "ListStateDescriptor",
    "MapStateDescriptor",
    "Merge",
    "Pipeline",
    "ResourceSpec",
    "Schedule",
    "SlidingEventTimeWindows",
    "SlotSharingGroup",
    "StateTtlConfig",
    "StreamExecutionEnvironment",
    "TumblingEventTimeWindows",
    "ValueStateDescriptor",
    "WindowedStream",
]
