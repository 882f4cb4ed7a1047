from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.interval_join(orders, "id", times="at", lower="0 days", upper="1 day").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/times_that_are_no_pair.py: pipeline 'sales' has 1 problem
#   after 'orders': interval_join was given times='at'
#     allowed: 2 values, each text
#     declared at pipelines/times_that_are_no_pair.py:5
