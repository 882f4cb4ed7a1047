from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.limit(-1).name("first").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/limit_below_zero.py: pipeline 'sales' has 1 problem
#   first: it keeps -1 rows
#     allowed: 0 or more
#     declared at pipelines/limit_below_zero.py:5
