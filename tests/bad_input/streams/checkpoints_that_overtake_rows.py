from graph_compiler import Json, Parquet, StreamExecutionEnvironment

config = {"execution.runtime-mode": "AUTOMATIC", "execution.continuous": "true", "execution.checkpointing.unaligned.enabled": "true"}
env = StreamExecutionEnvironment("sales", config=config)
orders = env.from_source(Json("/in/orders", schema="id INT"), "orders", unbounded=True).uid("orders")
orders.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/checkpoints_that_overtake_rows.py: pipeline 'sales' has 1 problem
#   option 'execution.checkpointing.unaligned.enabled' is set, and a run reads what is new in batches, each of which is a checkpoint
#     hint: leave it out
#     declared at pipelines/checkpoints_that_overtake_rows.py:4
