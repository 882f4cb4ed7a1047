from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
rows = orders.key_by("id", "n").rollup().aggregate(m="count(*)")
rows.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/totals_of_a_stream_at_several_levels.py: pipeline 'sales' has 2 problems
#   Aggregate: it has grouping sets, for which Spark keeps no state
#     allowed: one set of keys
#     declared at pipelines/totals_of_a_stream_at_several_levels.py:5
#   Sink: it appends, and 'Aggregate' emits a key again whenever its values change
#     allowed: mode='merge', with the keys of the aggregate
#     hint: windows of event time emit each key once: key_by(…).window(TumblingEventTimeWindows(…))
#     declared at pipelines/totals_of_a_stream_at_several_levels.py:6
