from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
rows = orders.except_(env.from_source(Json("/in/old", schema="id INT, at TIMESTAMP, n INT"), "old"))
rows.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/rows_of_a_stream_that_another_has.py: pipeline 'sales' has 2 problems
#   Except: it reads a stream together with the rows of 'old', which end
#     allowed: a union of streams; a union of rows that end
#     hint: publish rows that end by a pipeline of their own, or let them arrive: unbounded=True
#     declared at pipelines/rows_of_a_stream_that_another_has.py:5
#   Except: it needs all rows of a run, and those of a stream never end
#     allowed: operators on single rows, contracts on them, joins with bounded streams, aggregates by key, windows, deduplicate, interval_join, process by key
#     hint: a batch pipeline of what is new: only_new=True in place of unbounded=True
#     declared at pipelines/rows_of_a_stream_that_another_has.py:5
