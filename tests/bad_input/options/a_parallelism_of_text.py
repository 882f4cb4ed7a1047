from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.filter("x").name("paid").set_parallelism("4").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_parallelism_of_text.py: pipeline 'sales' has 1 problem
#   after 'paid': set_parallelism was given parallelism='4'
#     allowed: a whole number
#     declared at pipelines/a_parallelism_of_text.py:5
