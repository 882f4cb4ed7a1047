from graph_compiler import Csv, Parquet, ResourceSpec, SlotSharingGroup, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.filter("x").name("paid").slot_sharing_group(
    SlotSharingGroup("big", executor_memory="2g", executor_cores=1)
).set_resources(ResourceSpec(cpu_cores=4, memory="1g")).disable_chaining().sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/more_than_the_group_gives.py: pipeline 'sales' has 1 problem
#   paid: it needs at least 4 cores, but slot sharing group 'big' gives an executor 1 core and 2g
#     hint: give the group more, name another group, or split the chain: start_new_chain()
#     declared at pipelines/more_than_the_group_gives.py:5
