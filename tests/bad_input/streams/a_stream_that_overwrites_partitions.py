from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
orders.sink_to(Parquet("/out"), mode="overwrite-partitions", partition_by=["id"])
# graph-compiler validate says:
# pipelines/a_stream_that_overwrites_partitions.py: pipeline 'sales' has 1 problem
#   Sink: it has mode='overwrite-partitions', and its rows never end: each batch would replace those before
#     allowed: mode='append'; mode='merge' with keys
#     declared at pipelines/a_stream_that_overwrites_partitions.py:5
