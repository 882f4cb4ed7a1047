from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
old = env.from_source(Json("/in/old", schema="id INT, at TIMESTAMP, n INT"), "old")
orders.union(old).sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/rows_that_end_beside_a_stream.py: pipeline 'sales' has 1 problem
#   Sink: it reads a stream together with the rows of 'old', which end
#     allowed: a union of streams; a union of rows that end
#     hint: publish rows that end by a pipeline of their own, or let them arrive: unbounded=True
#     declared at pipelines/rows_that_end_beside_a_stream.py:6
