from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Parquet("/out"), keys="id").name("report")
# graph-compiler validate says:
# pipelines/keys_without_merge.py: pipeline 'sales' has 1 problem
#   report: keys is set, but its mode is 'overwrite'
#     allowed: keys with mode='merge'
#     declared at pipelines/keys_without_merge.py:5
