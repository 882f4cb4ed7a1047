from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.top_n(0, "amount DESC").sink_to(Parquet("/out/a"))
# graph-compiler validate says:
# pipelines/top_n_of_no_rows.py: pipeline 'sales' has 1 problem
#   Top N: it keeps 0 rows
#     allowed: 1 or more
#     declared at pipelines/top_n_of_no_rows.py:5
