from graph_compiler import Json, Parquet, StreamExecutionEnvironment

config = {"execution.runtime-mode": "AUTOMATIC", "execution.flush": "END"}
env = StreamExecutionEnvironment("sales", config=config)
orders = env.from_source(Json("/in/orders", schema="id INT"), "orders", unbounded=True).uid("orders")
orders.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/a_flush_without_windows.py: pipeline 'sales' has 1 problem
#   option 'execution.flush' is END, and no operator waits for the watermark of a stream
#     allowed: a stream with assign_timestamps_and_watermarks, and windows or other state behind it
#     hint: leave it out
#     declared at pipelines/a_flush_without_windows.py:4
