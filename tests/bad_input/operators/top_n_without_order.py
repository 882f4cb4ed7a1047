from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.top_n(5).name("best").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/top_n_without_order.py: pipeline 'sales' has 1 problem
#   best: it has no order
#     allowed: columns or expressions: "mean_delay DESC NULLS LAST"
#     declared at pipelines/top_n_without_order.py:5
