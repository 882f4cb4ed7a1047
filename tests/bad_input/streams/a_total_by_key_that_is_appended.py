from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
rows = orders.key_by("id").aggregate(m="count(*)")
rows.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/a_total_by_key_that_is_appended.py: pipeline 'sales' has 1 problem
#   Sink: it appends, and 'Aggregate' emits a key again whenever its values change
#     allowed: mode='merge', with the keys of the aggregate
#     hint: windows of event time emit each key once: key_by(…).window(TumblingEventTimeWindows(…))
#     declared at pipelines/a_total_by_key_that_is_appended.py:6
