from graph_compiler import Csv, Jdbc, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
env.from_source(Jdbc("jdbc:x", table="t", password="hunter2"), "customers").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_password_in_the_declaration.py: pipeline 'sales' has 1 problem
#   customers: its password is in the declaration in plain text
#     allowed: Secret('connection id', 'password')
#     hint: anyone who can see the code, the task or its logs could read it; keep it in an Airflow connection
#     declared at pipelines/a_password_in_the_declaration.py:5
