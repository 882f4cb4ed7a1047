from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/{{ ds }}", schema="id INT"), "orders", unbounded=True).uid("orders")
orders.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/another_folder_for_each_run.py: pipeline 'sales' has 1 problem
#   orders: it never ends, and its path is '/in/{{ ds }}': each run would have another one
#     allowed: a path without templates
#     declared at pipelines/another_folder_for_each_run.py:4
