from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.filter("x").name("paid").task_id("paid orders").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_task_id_airflow_cannot_take.py: pipeline 'sales' has 1 problem
#   paid: its task_id is 'paid orders'
#     allowed: letters, digits, '_', '-' and '.', at most 250 of them
#     declared at pipelines/a_task_id_airflow_cannot_take.py:5
