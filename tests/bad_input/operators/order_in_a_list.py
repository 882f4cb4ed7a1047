from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sort(["day", "amount"]).sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/order_in_a_list.py: pipeline 'sales' has 1 problem
#   after 'orders': sort was given ['day', 'amount'] among its order_by
#     allowed: text
#     declared at pipelines/order_in_a_list.py:5
