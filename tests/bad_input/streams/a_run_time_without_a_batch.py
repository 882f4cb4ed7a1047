from graph_compiler import Json, Parquet, StreamExecutionEnvironment

config = {"execution.runtime-mode": "AUTOMATIC", "execution.continuous": "true", "execution.max-run-time": "5 s"}
env = StreamExecutionEnvironment("sales", config=config)
orders = env.from_source(Json("/in/orders", schema="id INT"), "orders", unbounded=True).uid("orders")
orders.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/a_run_time_without_a_batch.py: pipeline 'sales' has 1 problem
#   option 'execution.max-run-time' is 5 s, and a batch begins every 10,000 ms
#     allowed: a time in which several batches begin
#     hint: without execution.continuous, a run publishes what has arrived, and ends
#     declared at pipelines/a_run_time_without_a_batch.py:4
