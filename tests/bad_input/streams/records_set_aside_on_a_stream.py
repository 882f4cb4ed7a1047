from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT", rejects="bad"), "orders", unbounded=True).uid("orders")
orders.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/records_set_aside_on_a_stream.py: pipeline 'sales' has 1 problem
#   orders: it sets records aside, and that is not possible on a stream
#     allowed: on_misfit='fail'
#     declared at pipelines/records_set_aside_on_a_stream.py:4
