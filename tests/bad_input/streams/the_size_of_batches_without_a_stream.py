from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT", options={"maxFilesPerTrigger": 10}), "orders", only_new=True).uid("orders")
orders.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/the_size_of_batches_without_a_stream.py: pipeline 'sales' has 1 problem
#   orders: its options have maxFilesPerTrigger, and Spark would ignore it
#     allowed: on a stream: unbounded=True
#     declared at pipelines/the_size_of_batches_without_a_stream.py:4
