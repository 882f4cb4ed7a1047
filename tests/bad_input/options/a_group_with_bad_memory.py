from graph_compiler import Csv, Parquet, SlotSharingGroup, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.filter("x").name("paid").slot_sharing_group(SlotSharingGroup("big", driver_memory="4 GB")).sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_group_with_bad_memory.py: pipeline 'sales' has 1 problem
#   paid: in its slot sharing group 'big' driver_memory is '4 GB'
#     allowed: a whole number and k, m, g or t, such as '2g' or '1536m'
#     declared at pipelines/a_group_with_bad_memory.py:5
