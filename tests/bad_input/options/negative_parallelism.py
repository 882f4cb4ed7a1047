from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.filter("x").name("paid").set_parallelism(-2).sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/negative_parallelism.py: pipeline 'sales' has 1 problem
#   paid: parallelism is -2
#     allowed: a whole number from 1 to 32768, or unset
#     declared at pipelines/negative_parallelism.py:5
