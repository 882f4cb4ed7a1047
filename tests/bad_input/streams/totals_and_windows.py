from graph_compiler import Json, Parquet, StreamExecutionEnvironment, TumblingEventTimeWindows

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
orders.key_by("id").aggregate(m="count(*)").sink_to(Parquet("/totals"), mode="merge", keys=["id"])
marked = orders.assign_timestamps_and_watermarks("at", max_out_of_orderness="5 minutes")
hours = marked.window_all(TumblingEventTimeWindows("at", "1 hour")).aggregate(m="count(*)")
hours.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/totals_and_windows.py: pipeline 'sales' has 1 problem
#   Aggregate: its values change all the time, and those of the windows of 'Window' are final
#     allowed: one of both in a pipeline
#     declared at pipelines/totals_and_windows.py:5
