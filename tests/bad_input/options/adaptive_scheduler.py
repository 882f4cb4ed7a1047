from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"jobmanager.scheduler": "AdaptiveBatch"})
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/adaptive_scheduler.py: pipeline 'sales' has 1 problem
#   jobmanager.scheduler AdaptiveBatch does not decide the parallelism of 'Source: orders -> Sink: Sink'
#     allowed: Default, which leaves it to Spark; or .set_parallelism() of every operator
#     declared at pipelines/adaptive_scheduler.py:3
