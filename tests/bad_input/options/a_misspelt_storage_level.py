from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.cache("MEMORY_AND_DISKS").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_misspelt_storage_level.py: pipeline 'sales' has 1 problem
#   after 'orders': there is no storage level 'MEMORY_AND_DISKS'
#     allowed: MEMORY_ONLY, MEMORY_AND_DISK and DISK_ONLY
#     hint: did you mean 'MEMORY_AND_DISK'?
#     declared at pipelines/a_misspelt_storage_level.py:5
