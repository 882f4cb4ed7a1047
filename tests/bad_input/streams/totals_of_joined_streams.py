from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
paid = env.from_source(Json("/in/paid", schema="id INT, paid TIMESTAMP"), "paid", unbounded=True).uid("paid")
left = orders.assign_timestamps_and_watermarks("at", max_out_of_orderness="5 minutes")
right = paid.assign_timestamps_and_watermarks("paid", max_out_of_orderness="5 minutes")
rows = left.interval_join(right, on="id", times=("at", "paid"), lower="-1 hour", upper="1 hour")
rows.key_by("id").aggregate(n="count(*)").sink_to(Parquet("/out"), mode="merge", keys="id")
# graph-compiler validate says:
# pipelines/totals_of_joined_streams.py: pipeline 'sales' has 1 problem
#   Aggregate: it reads what 'Interval Join' computes, and both keep state
#     allowed: one operator with state between a source and a sink
#     hint: publish the first one's rows, and read these by another pipeline
#     declared at pipelines/totals_of_joined_streams.py:9
