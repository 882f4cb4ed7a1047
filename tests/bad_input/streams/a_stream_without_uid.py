from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT"), "orders", unbounded=True)
orders.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/a_stream_without_uid.py: pipeline 'sales' has 1 problem
#   orders: it never ends, and has no uid: a change of the pipeline could lose its checkpoint
#     allowed: .uid("orders"); in YAML, uid: orders
#     declared at pipelines/a_stream_without_uid.py:4
