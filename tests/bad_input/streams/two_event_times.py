from graph_compiler import Json, Parquet, StreamExecutionEnvironment, TumblingEventTimeWindows

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
rows = orders.assign_timestamps_and_watermarks("at", max_out_of_orderness="5 minutes").assign_timestamps_and_watermarks("at", max_out_of_orderness="1 hour").window_all(TumblingEventTimeWindows("at", "1 hour")).aggregate(m="count(*)")
rows.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/two_event_times.py: pipeline 'sales' has 1 problem
#   Window: its windows are over 'at', and the event time is 'at' and 'at'
#     allowed: one event time
#     hint: assign_timestamps_and_watermarks("at", max_out_of_orderness="5 minutes")
#     declared at pipelines/two_event_times.py:5
