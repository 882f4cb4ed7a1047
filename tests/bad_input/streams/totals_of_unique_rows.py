from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
marked = orders.assign_timestamps_and_watermarks("at", max_out_of_orderness="5 minutes")
totals = marked.deduplicate("id").key_by("n").aggregate(n_orders="count(*)")
totals.sink_to(Parquet("/out"), mode="merge", keys="n")
# graph-compiler validate says:
# pipelines/totals_of_unique_rows.py: pipeline 'sales' has 1 problem
#   Aggregate: it reads what 'Deduplicate' computes, and both keep state
#     allowed: one operator with state between a source and a sink
#     hint: publish the first one's rows, and read these by another pipeline
#     declared at pipelines/totals_of_unique_rows.py:6
