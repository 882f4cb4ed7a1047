"""The fluent API, by topic; `DataStream` has all of it."""

from graph_compiler.declaration.streams.connected_streams import ConnectedStreams
from graph_compiler.declaration.streams.data_stream import DataStream, DataStreamSink, KeyedStream, WindowedStream

__all__ = ["ConnectedStreams", "DataStream", "DataStreamSink", "KeyedStream", "WindowedStream"]
