from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"pipeline.max-parallelism": 10})
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.filter("x").name("paid").set_parallelism(50).sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/an_own_parallelism_over_the_pipelines.py: pipeline 'sales' has 1 problem
#   paid: parallelism 50 is higher than its maximum of 10
#     declared at pipelines/an_own_parallelism_over_the_pipelines.py:3
