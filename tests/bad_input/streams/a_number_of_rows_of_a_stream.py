from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
rows = orders.expect_rows("some", at_least=1)
rows.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/a_number_of_rows_of_a_stream.py: pipeline 'sales' has 1 problem
#   some: it counts all rows of a run, and those of a stream never end
#     allowed: operators on single rows, joins with bounded streams, aggregates by key, windows, deduplicate, interval_join, process by key
#     hint: a batch pipeline of what is new: only_new=True in place of unbounded=True
#     declared at pipelines/a_number_of_rows_of_a_stream.py:5
