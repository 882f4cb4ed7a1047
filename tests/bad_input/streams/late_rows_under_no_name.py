from graph_compiler import Json, Parquet, StreamExecutionEnvironment, TumblingEventTimeWindows

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
marked = orders.assign_timestamps_and_watermarks("at", max_out_of_orderness="5 minutes")
windows = marked.key_by("id").window(TumblingEventTimeWindows("at", "1 hour")).side_output_late_data(" ")
windows.aggregate(total="sum(n)").sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/late_rows_under_no_name.py: pipeline 'sales' has 1 problem
#   after 'Timestamps/Watermarks': side_output_late_data was given no tag
#     allowed: the tag of a side output: "late"
#     declared at pipelines/late_rows_under_no_name.py:6
