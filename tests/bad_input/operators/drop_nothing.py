from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.drop().name("dropped").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/drop_nothing.py: pipeline 'sales' has 1 problem
#   dropped: it names no columns
#     allowed: names of columns, at least one
#     declared at pipelines/drop_nothing.py:5
