from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT"), "orders", unbounded=True, only_new=True).uid("orders")
orders.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/a_stream_of_what_is_new.py: pipeline 'sales' has 1 problem
#   orders: unbounded and only_new are set: the first is a stream, the second a batch of what is new
#     allowed: one of them
#     declared at pipelines/a_stream_of_what_is_new.py:4
