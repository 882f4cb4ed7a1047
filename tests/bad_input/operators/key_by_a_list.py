from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.key_by(["customer", "day"]).aggregate(n="count(*)").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/key_by_a_list.py: pipeline 'sales' has 1 problem
#   after 'orders': key_by was given ['customer', 'day'] among its columns
#     allowed: text
#     declared at pipelines/key_by_a_list.py:5
