from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
totals = orders.key_by("id", "n").aggregate(m="count(*)").key_by("id").aggregate(k="sum(m)")
totals.sink_to(Parquet("/out"), mode="merge", keys=["id"])
# graph-compiler validate says:
# pipelines/a_total_of_totals.py: pipeline 'sales' has 1 problem
#   Aggregate: it reads what 'Aggregate' computes, and both keep state
#     allowed: one operator with state between a source and a sink
#     hint: publish the first one's rows, and read these by another pipeline
#     declared at pipelines/a_total_of_totals.py:5
