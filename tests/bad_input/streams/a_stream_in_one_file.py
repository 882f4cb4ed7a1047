from graph_compiler import Csv, Json, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
orders.sink_to(Csv("/out/orders.csv"), single_file=True)
# graph-compiler validate says:
# pipelines/a_stream_in_one_file.py: pipeline 'sales' has 1 problem
#   Sink: it has one file, and its rows never end: each batch would replace those before
#     allowed: mode='append'; mode='merge' with keys
#     declared at pipelines/a_stream_in_one_file.py:5
