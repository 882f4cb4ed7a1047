from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.forward().filter("x").name("paid").set_parallelism(4).sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/forward_to_another_parallelism.py: pipeline 'sales' has 1 problem
#   paid: forward partitioning does not allow change of parallelism: 'orders' has 1, 'paid' has 4
#     hint: use rebalance() or rescale() between them, or set the same parallelism
#     declared at pipelines/forward_to_another_parallelism.py:5
