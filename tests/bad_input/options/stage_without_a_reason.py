from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.stage("").filter("x").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/stage_without_a_reason.py: pipeline 'sales' has 1 problem
#   after 'orders': stage() needs a reason
#     allowed: text that explains why the cut is there
#     declared at pipelines/stage_without_a_reason.py:5
