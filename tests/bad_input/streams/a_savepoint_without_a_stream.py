from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.savepoint.path": "/backup/sales"})
orders = env.from_source(Json("/in/orders", schema="id INT"), "orders").uid("orders")
orders.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/a_savepoint_without_a_stream.py: pipeline 'sales' has 1 problem
#   option 'execution.savepoint.path' is set, and none of its sources is unbounded
#     allowed: a pipeline with one stream, whose savepoint it is
#     declared at pipelines/a_savepoint_without_a_stream.py:3
