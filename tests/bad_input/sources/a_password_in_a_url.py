from graph_compiler import Csv, Jdbc, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
env.from_source(Jdbc("jdbc:postgresql://etl:hunter2@db/x", table="t"), "customers").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_password_in_a_url.py: pipeline 'sales' has 1 problem
#   customers: its url holds a password
#     allowed: Secret('connection id', 'password')
#     hint: anyone who can see the code, the task or its logs could read it; keep it in an Airflow connection
#     declared at pipelines/a_password_in_a_url.py:5
