from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Parquet("")).name("report")
# graph-compiler validate says:
# pipelines/an_empty_path.py: pipeline 'sales' has 1 problem
#   report: its path is empty
#     allowed: a path or a URI
#     declared at pipelines/an_empty_path.py:5
