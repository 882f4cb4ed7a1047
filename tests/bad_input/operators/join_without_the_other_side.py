from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.join(on="id").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/join_without_the_other_side.py: pipeline 'sales' has 1 problem
#   after 'orders': join was called without other
#     allowed: join(other, on=(), how='inner', condition=None)
#     declared at pipelines/join_without_the_other_side.py:5
