from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.filter("amount > 0", "small", 3).sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/an_argument_too_much.py: pipeline 'sales' has 1 problem
#   after 'orders': filter was given too many arguments: 'small', 3
#     allowed: filter(condition, rejects=None)
#     declared at pipelines/an_argument_too_much.py:5
