from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
orders.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/a_stream_in_a_batch.py: pipeline 'sales' has 1 problem
#   orders: it never ends, but execution.runtime-mode is BATCH
#     allowed: STREAMING or AUTOMATIC
#     declared at pipelines/a_stream_in_a_batch.py:4
