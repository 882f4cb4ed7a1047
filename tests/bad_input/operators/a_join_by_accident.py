from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.join(orders).name("pairs").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_join_by_accident.py: pipeline 'sales' has 1 problem
#   pairs: it has neither columns nor a condition
#     allowed: on="id", or condition="left.a < right.b"
#     hint: to pair all rows, use how='cross'
#     declared at pipelines/a_join_by_accident.py:5
