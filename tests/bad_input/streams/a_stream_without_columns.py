from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders"), "orders", unbounded=True).uid("orders")
orders.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/a_stream_without_columns.py: pipeline 'sales' has 1 problem
#   orders: it never ends, and has no schema=: the files to come have no columns yet
#     allowed: schema="id BIGINT, amount DECIMAL(9, 2)"
#     hint: `graph-compiler dry-run --infer` prints the columns of the files that are there
#     declared at pipelines/a_stream_without_columns.py:4
