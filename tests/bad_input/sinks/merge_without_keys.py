from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Parquet("/out"), mode="merge").name("report")
# graph-compiler validate says:
# pipelines/merge_without_keys.py: pipeline 'sales' has 1 problem
#   report: its mode is 'merge', but it has no keys
#     allowed: names of columns: keys=("id",)
#     declared at pipelines/merge_without_keys.py:5
