from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.join(orders, on="id", how="cross").name("pairs").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_cross_join_with_keys.py: pipeline 'sales' has 1 problem
#   pairs: a cross join takes neither columns nor a condition
#     allowed: how='cross' alone, or keys with another join type
#     declared at pipelines/a_cross_join_with_keys.py:5
