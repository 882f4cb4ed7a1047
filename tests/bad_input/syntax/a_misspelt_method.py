from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.keyby("customer").aggregate(n="count(*)").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_misspelt_method.py: pipeline 'sales' has 1 problem
#   after 'orders': a stream has no 'keyby'
#     hint: did you mean 'key_by'?
#     declared at pipelines/a_misspelt_method.py:5
