from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
rows = orders.assign_timestamps_and_watermarks("at", max_out_of_orderness="0 seconds")
rows.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/no_disorder_at_all.py: pipeline 'sales' has 1 problem
#   Timestamps/Watermarks: its max_out_of_orderness is '0 seconds'
#     allowed: at least 1 millisecond
#     hint: with less, rows would be late that have the same time as the latest one
#     declared at pipelines/no_disorder_at_all.py:5
