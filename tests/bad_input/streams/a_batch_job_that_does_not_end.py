from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.continuous": "true", "execution.checkpointing.interval": "1000"})
orders = env.from_source(Json("/in/orders", schema="id INT"), "orders")
orders.sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_batch_job_that_does_not_end.py: pipeline 'sales' has 1 problem
#   option 'execution.continuous' is set, and none of its sources is unbounded
#     allowed: a pipeline that is one stream
#     declared at pipelines/a_batch_job_that_does_not_end.py:3
