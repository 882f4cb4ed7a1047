from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
orders.sink_to(Parquet("/out"), mode="error-if-exists")
# graph-compiler validate says:
# pipelines/a_stream_with_mode_error_if_exists.py: pipeline 'sales' has 1 problem
#   Sink: it has mode='error-if-exists', and its rows never end: it would take the first batch only
#     allowed: mode='append'; mode='merge' with keys
#     declared at pipelines/a_stream_with_mode_error_if_exists.py:5
