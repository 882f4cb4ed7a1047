from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Parquet("/out")).filter("x")
# graph-compiler validate says:
# pipelines/a_stream_behind_a_sink.py: pipeline 'a_stream_behind_a_sink' has 1 problem
#   after 'Sink': it cannot be loaded: `orders.sink_to(Parquet("/out")).filter("x")` raised AttributeError: 'DataStreamSink' object has no attribute 'filter'
#     hint: a sink has no output: call it on the stream, before sink_to(…)
#     declared at pipelines/a_stream_behind_a_sink.py:5
