from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.select("id", 5).name("columns").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/select_a_number.py: pipeline 'sales' has 1 problem
#   after 'orders': select was given 5 among its columns
#     allowed: text
#     declared at pipelines/select_a_number.py:5
