from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
paid = env.from_source(Json("/in/paid", schema="id INT, paid TIMESTAMP"), "paid", unbounded=True).uid("paid")
rows = orders.interval_join(paid, on="id", times=("at", "paid"), lower="-1 hour", upper="1 hour")
rows.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/close_times_of_two_streams.py: pipeline 'sales' has 1 problem
#   Interval Join: it needs all rows of a run, and those of a stream never end
#     allowed: operators on single rows, joins with bounded streams, aggregates by key, windows, deduplicate
#     hint: a batch pipeline of what is new: only_new=True in place of unbounded=True
#     declared at pipelines/close_times_of_two_streams.py:6
