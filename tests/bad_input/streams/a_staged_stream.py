from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
orders.stage("expensive").sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/a_staged_stream.py: pipeline 'sales' has 1 problem
#   orders: its rows are staged, and they never end
#     allowed: results of bounded sources; on a stream, all of it is one application
#     hint: leave out stage()
#     declared at pipelines/a_staged_stream.py:4
