from graph_compiler import Json, Parquet, StreamExecutionEnvironment, TumblingEventTimeWindows

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
rows = orders.window_all(TumblingEventTimeWindows("at", "1 hour")).aggregate(m="count(*)")
rows.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/windows_that_nothing_completes.py: pipeline 'sales' has 1 problem
#   Window: nothing says when its windows are complete
#     hint: before it: .assign_timestamps_and_watermarks("at", max_out_of_orderness="5 minutes")
#     declared at pipelines/windows_that_nothing_completes.py:5
