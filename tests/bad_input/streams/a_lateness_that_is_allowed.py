from graph_compiler import Json, Parquet, StreamExecutionEnvironment, TumblingEventTimeWindows

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
marked = orders.assign_timestamps_and_watermarks("at", max_out_of_orderness="5 minutes")
windows = marked.key_by("id").window(TumblingEventTimeWindows("at", "1 hour")).allowed_lateness("1 hour")
windows.aggregate(total="sum(n)").sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/a_lateness_that_is_allowed.py: pipeline 'sales' has 1 problem
#   after 'Timestamps/Watermarks': the result of window has no 'allowed_lateness': that is PyFlink's
#     hint: leave it out: a window is published once. max_out_of_orderness waits, side_output_late_data has later rows
#     declared at pipelines/a_lateness_that_is_allowed.py:6
