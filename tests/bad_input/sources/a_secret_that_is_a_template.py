from graph_compiler import Csv, Jdbc, Parquet, Secret, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
env.from_source(Jdbc("jdbc:x", table="t", password=Secret("{{ params.conn }}")), "customers").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_secret_that_is_a_template.py: pipeline 'sales' has 1 problem
#   customers: its password is Secret(conn_id='{{ params.conn }}', field='password'): a secret is never rendered
#     allowed: a literal connection id
#     declared at pipelines/a_secret_that_is_a_template.py:5
