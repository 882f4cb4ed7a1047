from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment(
    "sales", config={"execution.runtime-mode": "AUTOMATIC", "execution.savepoint.path": "backup/sales"}
)
orders = env.from_source(Json("/in/orders", schema="id INT"), "orders", unbounded=True).uid("orders")
orders.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/a_savepoint_at_no_place.py: pipeline 'sales' has 1 problem
#   option 'execution.savepoint.path' is 'backup/sales'
#     allowed: an absolute path, or the URI of a folder in HDFS
#     declared at pipelines/a_savepoint_at_no_place.py:3
