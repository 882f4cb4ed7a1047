from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.join(orders, on="id", how="lefft").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_misspelt_join_type.py: pipeline 'sales' has 1 problem
#   after 'orders': there is no join type 'lefft'
#     allowed: inner, left, right, full, semi, anti and cross
#     hint: did you mean 'left'?
#     declared at pipelines/a_misspelt_join_type.py:5
