from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.get_side_output("rejected").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/no_side_output.py: pipeline 'sales' has 1 problem
#   orders: it has no side output 'rejected'
#     hint: filter(…, rejects="tag") creates one
#     declared at pipelines/no_side_output.py:5
