from graph_compiler import Csv, Jdbc, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
env.from_source(
    Jdbc("jdbc:x", table="t", partition_column="id", lower_bound=9, upper_bound=1), "customers"
).sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/bounds_the_wrong_way_round.py: pipeline 'sales' has 1 problem
#   customers: its bounds are wrong: lower 9, upper 1
#     allowed: two whole numbers, two dates or two timestamps (2013-01-31), the lower first, or templates of them
#     declared at pipelines/bounds_the_wrong_way_round.py:5
