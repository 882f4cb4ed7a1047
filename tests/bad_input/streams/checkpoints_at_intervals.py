from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC", "execution.checkpointing.interval": "10000"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
orders.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/checkpoints_at_intervals.py: pipeline 'sales' has 1 problem
#   option 'execution.checkpointing.interval' is set, and a run reads what is new in batches, each of which is a checkpoint
#     hint: leave it out, or set execution.continuous: true
#     declared at pipelines/checkpoints_at_intervals.py:3
