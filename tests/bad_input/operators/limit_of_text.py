from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.limit("10").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/limit_of_text.py: pipeline 'sales' has 1 problem
#   after 'orders': limit was given n='10'
#     allowed: a whole number
#     declared at pipelines/limit_of_text.py:5
