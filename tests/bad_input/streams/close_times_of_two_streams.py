from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
paid = env.from_source(Json("/in/paid", schema="id INT, paid TIMESTAMP"), "paid", unbounded=True).uid("paid")
rows = orders.interval_join(paid, on="id", times=("at", "paid"), lower="-1 hour", upper="1 hour")
rows.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/close_times_of_two_streams.py: pipeline 'sales' has 2 problems
#   Interval Join: nothing says when it may forget rows of its left side
#     hint: before it, on the left side: .assign_timestamps_and_watermarks("at", max_out_of_orderness="5 minutes")
#     declared at pipelines/close_times_of_two_streams.py:6
#   Interval Join: nothing says when it may forget rows of its right side
#     hint: before it, on the right side: .assign_timestamps_and_watermarks("paid", max_out_of_orderness="5 minutes")
#     declared at pipelines/close_times_of_two_streams.py:6
