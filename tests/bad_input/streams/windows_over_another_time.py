from graph_compiler import Json, Parquet, StreamExecutionEnvironment, TumblingEventTimeWindows

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
rows = orders.assign_timestamps_and_watermarks("at", max_out_of_orderness="5 minutes").with_columns(sent="at").window_all(TumblingEventTimeWindows("sent", "1 hour")).aggregate(m="count(*)")
rows.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/windows_over_another_time.py: pipeline 'sales' has 1 problem
#   Window: its windows are over 'sent', and the event time is 'at'
#     allowed: one event time
#     hint: assign_timestamps_and_watermarks("sent", max_out_of_orderness="5 minutes")
#     declared at pipelines/windows_over_another_time.py:5
