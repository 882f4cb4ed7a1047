from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Parquet("/out")).filter("x")
# graph-compiler validate says:
# pipelines/a_stream_behind_a_sink.py: pipeline 'sales' has 1 problem
#   after 'Sink': a sink has no 'filter'
#     hint: a sink has no output: call it on the stream, before sink_to(…)
#     declared at pipelines/a_stream_behind_a_sink.py:5
