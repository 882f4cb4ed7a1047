from graph_compiler import Json, Parquet, StreamExecutionEnvironment, TumblingEventTimeWindows

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
marked = orders.assign_timestamps_and_watermarks("at", max_out_of_orderness="5 minutes")
windows = marked.key_by("id").window(TumblingEventTimeWindows("at", "1 hour")).side_output_late_data("late")
hours = windows.aggregate(total="sum(n)")
hours.sink_to(Parquet("/out"), mode="append")
hours.get_side_output("late").deduplicate("id").sink_to(Parquet("/late"), mode="append")
# graph-compiler validate says:
# pipelines/totals_of_late_rows.py: pipeline 'sales' has 1 problem
#   Deduplicate: it reads what 'Window' computes, and both keep state
#     allowed: one operator with state between a source and a sink
#     hint: publish the first one's rows, and read these by another pipeline
#     declared at pipelines/totals_of_late_rows.py:9
