from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.filter("x").slot_sharing_group(3).sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_group_that_is_a_number.py: pipeline 'sales' has 1 problem
#   after 'Filter': slot_sharing_group was given 3
#     allowed: a name, or a SlotSharingGroup
#     declared at pipelines/a_group_that_is_a_number.py:5
