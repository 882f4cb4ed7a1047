from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
paid = env.from_source(Json("/in/paid", schema="id INT"), "paid", unbounded=True).uid("paid")
orders.join(paid, on="id").sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/two_streams_joined.py: pipeline 'sales' has 1 problem
#   Join: both its sides never end
#     allowed: one side of bounded sources
#     hint: rows that are close in time: interval_join(…, times=("at", "paid"), lower="-1 hour", upper="1 hour")
#     declared at pipelines/two_streams_joined.py:6
