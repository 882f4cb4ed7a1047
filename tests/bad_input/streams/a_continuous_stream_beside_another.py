from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC", "execution.continuous": "true"})
orders = env.from_source(Json("/in/orders", schema="id INT"), "orders", unbounded=True).uid("orders")
orders.sink_to(Parquet("/out/orders"), mode="append").name("orders").uid("all_orders")
clicks = env.from_source(Json("/in/clicks", schema="id INT"), "clicks", unbounded=True).uid("clicks")
clicks.sink_to(Parquet("/out/clicks"), mode="append").name("clicks").uid("all_clicks")
# graph-compiler validate says:
# pipelines/a_continuous_stream_beside_another.py: pipeline 'sales' has 1 problem
#   option 'execution.continuous' is set, and the pipeline has 2 deployment regions: a task that does not end holds up the others
#     allowed: a pipeline that is one stream
#     hint: give each stream, and each batch job, a pipeline of its own
#     declared at pipelines/a_continuous_stream_beside_another.py:3
