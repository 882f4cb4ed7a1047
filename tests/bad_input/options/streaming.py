from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "STREAMING"})
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/streaming.py: pipeline 'sales' has 1 problem
#   execution.runtime-mode is STREAMING
#     allowed: BATCH; streaming pipelines cannot be deployed yet
#     declared at pipelines/streaming.py:3
