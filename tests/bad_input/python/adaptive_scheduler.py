from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"jobmanager.scheduler": "AdaptiveBatch"})
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/adaptive_scheduler.py: pipeline 'sales' has 1 problem
#   jobmanager.scheduler is AdaptiveBatch
#     allowed: Default; unset parallelism adapts anyway
#     declared at pipelines/adaptive_scheduler.py:3
