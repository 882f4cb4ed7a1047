from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
orders.key_by("id").aggregate(m="count(*)").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_total_by_key_that_overwrites.py: pipeline 'sales' has 1 problem
#   Sink: it has mode='overwrite', and its rows never end: each batch would replace those before
#     allowed: mode='append'; mode='merge' with keys
#     declared at pipelines/a_total_by_key_that_overwrites.py:5
