from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
orders.sink_to(Parquet("/out/{{ ds }}"), mode="append")
# graph-compiler validate says:
# pipelines/another_target_for_each_run.py: pipeline 'sales' has 1 problem
#   Sink: its target is '/out/{{ ds }}': what one run has begun of a batch, another run finishes elsewhere
#     allowed: a target without templates
#     declared at pipelines/another_target_for_each_run.py:5
