from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.filter().sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/filter_without_a_condition.py: pipeline 'sales' has 1 problem
#   after 'orders': filter was called without condition
#     allowed: filter(condition, rejects=None)
#     declared at pipelines/filter_without_a_condition.py:5
