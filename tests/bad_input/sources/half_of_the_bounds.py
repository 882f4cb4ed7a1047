from graph_compiler import Csv, Jdbc, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
env.from_source(Jdbc("jdbc:x", table="t", partition_column="id"), "customers").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/half_of_the_bounds.py: pipeline 'sales' has 1 problem
#   customers: partition_column needs lower_bound and upper_bound
#     allowed: partition_column, lower_bound and upper_bound together (and num_partitions), or none of them
#     declared at pipelines/half_of_the_bounds.py:5
