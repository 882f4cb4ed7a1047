from graph_compiler import Csv, Parquet, Range, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
env.from_source(Range(0, 9, 0), "rows").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_range_of_no_step.py: pipeline 'sales' has 1 problem
#   rows: its step is 0
#     allowed: any other whole number
#     declared at pipelines/a_range_of_no_step.py:5
