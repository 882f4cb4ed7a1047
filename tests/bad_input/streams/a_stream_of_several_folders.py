from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json(["/in/a", "/in/b"], schema="id INT"), "orders", unbounded=True).uid("orders")
orders.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/a_stream_of_several_folders.py: pipeline 'sales' has 1 problem
#   orders: it never ends, and has 2 paths
#     allowed: one folder
#     declared at pipelines/a_stream_of_several_folders.py:4
