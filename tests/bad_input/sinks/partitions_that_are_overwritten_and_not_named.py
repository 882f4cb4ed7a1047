from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Parquet("/out"), mode="overwrite-partitions").name("report")
# graph-compiler validate says:
# pipelines/partitions_that_are_overwritten_and_not_named.py: pipeline 'sales' has 1 problem
#   report: its mode is 'overwrite-partitions', but it has no partitions
#     hint: name their columns: partition_by=("day",)
#     declared at pipelines/partitions_that_are_overwritten_and_not_named.py:5
