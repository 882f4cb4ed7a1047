from graph_compiler import Csv, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Csv("/out"), mode="merge", keys="id").name("report")
# graph-compiler validate says:
# pipelines/merge_into_csv.py: pipeline 'sales' has 1 problem
#   report: Csv has no mode 'merge'
#     allowed: append, overwrite, overwrite-partitions and error-if-exists
#     declared at pipelines/merge_into_csv.py:5
