from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.deduplicate(order_by="day").name("once").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/an_order_among_equal_rows.py: pipeline 'sales' has 1 problem
#   once: it has an order but no keys: rows that are equal in all columns have no order
#     hint: name the keys, to keep one row of each: deduplicate("user", order_by="seen DESC")
#     declared at pipelines/an_order_among_equal_rows.py:5
