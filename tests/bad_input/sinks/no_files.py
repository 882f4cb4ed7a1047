from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Parquet("/out"), files=0).name("report")
# graph-compiler validate says:
# pipelines/no_files.py: pipeline 'sales' has 1 problem
#   report: files is 0
#     allowed: a whole number from 1, or unset
#     declared at pipelines/no_files.py:5
