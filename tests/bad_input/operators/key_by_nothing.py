from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.key_by().aggregate(n="count(*)").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/key_by_nothing.py: pipeline 'sales' has 1 problem
#   after 'orders': key_by was given nothing
#     allowed: names of columns: key_by("a", "b")
#     declared at pipelines/key_by_nothing.py:5
