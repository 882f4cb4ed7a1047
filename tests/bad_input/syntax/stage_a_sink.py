from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Parquet("/out")).stage("for all")
# graph-compiler validate says:
# pipelines/stage_a_sink.py: pipeline 'sales' has 1 problem
#   after 'Sink': a sink has no 'stage'
#     hint: a sink has no output: call it on the stream, before sink_to(…)
#     declared at pipelines/stage_a_sink.py:5
