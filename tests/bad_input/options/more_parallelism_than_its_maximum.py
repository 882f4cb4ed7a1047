from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.filter("x").name("paid").set_parallelism(8).set_max_parallelism(4).sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/more_parallelism_than_its_maximum.py: pipeline 'sales' has 1 problem
#   paid: parallelism 8 is higher than its maximum of 4
#     hint: raise the maximum, or lower the parallelism
#     declared at pipelines/more_parallelism_than_its_maximum.py:5
