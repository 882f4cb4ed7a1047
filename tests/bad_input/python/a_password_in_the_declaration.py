from graph_compiler import Csv, Jdbc, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
env.from_source(Jdbc("jdbc:x", table="t", password="hunter2"), "customers").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_password_in_the_declaration.py: pipeline 'sales' has 1 problem
#   customers: its password stands in the declaration
#     allowed: Secret('connection id', 'password')
#     hint: whoever sees the code, the task or its logs would see it; let Airflow's connection keep it
#     declared at pipelines/a_password_in_the_declaration.py:5
