from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.join(orders.sink_to(Parquet("/a")), on="id").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_sink_joined.py: pipeline 'sales' has 1 problem
#   after 'orders': it was given a sink, which has no output
#     allowed: streams of this environment
#     declared at pipelines/a_sink_joined.py:5
