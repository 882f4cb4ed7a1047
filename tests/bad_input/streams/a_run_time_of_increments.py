from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC", "execution.max-run-time": "1 h"})
orders = env.from_source(Json("/in/orders", schema="id INT"), "orders", unbounded=True).uid("orders")
orders.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/a_run_time_of_increments.py: pipeline 'sales' has 1 problem
#   option 'execution.max-run-time' is set, and a run ends when what has arrived is published
#     allowed: with execution.continuous: true
#     hint: leave it out; build_dag takes execution_timeout for tasks that may take too long
#     declared at pipelines/a_run_time_of_increments.py:3
