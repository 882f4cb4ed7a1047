from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.filter(3).name("paid").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/filter_by_a_number.py: pipeline 'sales' has 1 problem
#   after 'orders': filter was given condition=3
#     allowed: text
#     declared at pipelines/filter_by_a_number.py:5
