from graph_compiler import Csv, Parquet, SlotSharingGroup, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.slot_sharing_group(SlotSharingGroup("big", driver_memory="4g"))
orders.filter("x").name("paid").slot_sharing_group(SlotSharingGroup("big", driver_memory="2g")).sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_group_said_twice.py: pipeline 'sales' has 1 problem
#   paid: it declares slot sharing group 'big: driver 2g', but 'orders' declares 'big: driver 4g' (pipelines/a_group_said_twice.py:4)
#     hint: declare a group once and refer to it by name, or use a different name for the second
#     declared at pipelines/a_group_said_twice.py:6
