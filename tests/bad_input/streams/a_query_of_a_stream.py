from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
rows = env.sql("SELECT count(*) AS n FROM {orders}", orders=orders)
rows.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/a_query_of_a_stream.py: pipeline 'sales' has 1 problem
#   SQL: it needs all rows of a run, and those of a stream never end
#     allowed: operators on single rows, contracts on them, joins with bounded streams, aggregates by key, windows, deduplicate, interval_join, process by key
#     hint: a batch pipeline of what is new: only_new=True in place of unbounded=True
#     declared at pipelines/a_query_of_a_stream.py:5
