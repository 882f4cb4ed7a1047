from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
paid = env.from_source(Json("/in/paid", schema="id INT, paid TIMESTAMP"), "paid", unbounded=True).uid("paid")
marked = paid.assign_timestamps_and_watermarks("paid", max_out_of_orderness="5 minutes")
known = env.from_source(Json("/in/known", schema="id INT, at TIMESTAMP"), "known")
rows = orders.join(known.assign_timestamps_and_watermarks("at", max_out_of_orderness="1 hour").drop("at"), on="id")
rows = rows.interval_join(marked.rename({"paid": "payed"}), on="id", times=("at", "payed"), lower="-1 hour", upper="1 month")
rows.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/close_times_of_streams_without_watermarks.py: pipeline 'sales' has 3 problems
#   Interval Join: nothing says when it may forget rows of its left side
#     hint: before it, on the left side: .assign_timestamps_and_watermarks("at", max_out_of_orderness="5 minutes")
#     declared at pipelines/close_times_of_streams_without_watermarks.py:9
#   Interval Join: its right side is joined by 'payed', and the event time is 'paid'
#     allowed: one event time for each side
#     hint: assign_timestamps_and_watermarks("payed", max_out_of_orderness="5 minutes")
#     declared at pipelines/close_times_of_streams_without_watermarks.py:9
#   Interval Join: its upper bound is '1 month', whose length varies, so that rows would never be forgotten
#     allowed: a whole number and a unit, as in '10 minutes'; units are microsecond, millisecond, second, minute, hour, day, week; seconds may have a fraction
#     declared at pipelines/close_times_of_streams_without_watermarks.py:9
