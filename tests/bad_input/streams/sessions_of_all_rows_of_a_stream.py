from graph_compiler import EventTimeSessionWindows, Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
rows = orders.assign_timestamps_and_watermarks("at", max_out_of_orderness="5 minutes").window_all(EventTimeSessionWindows("at", "1 hour")).aggregate(m="count(*)")
rows.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/sessions_of_all_rows_of_a_stream.py: pipeline 'sales' has 1 problem
#   Window: its windows are sessions of all rows
#     allowed: sessions by key: key_by(…).window(…)
#     declared at pipelines/sessions_of_all_rows_of_a_stream.py:5
