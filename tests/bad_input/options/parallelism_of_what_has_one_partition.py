from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.limit(10).name("first").set_parallelism(4).sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/parallelism_of_what_has_one_partition.py: pipeline 'sales' has 1 problem
#   first: its parallelism is 4, but all its rows go through one partition
#     allowed: 1, or unset
#     declared at pipelines/parallelism_of_what_has_one_partition.py:5
