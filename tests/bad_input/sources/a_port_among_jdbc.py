from graph_compiler import Csv, Jdbc, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
env.from_source(Jdbc(5432, table="t"), "customers").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_port_among_jdbc.py: pipeline 'sales' has 1 problem
#   customers: url is 5432
#     allowed: text, or Secret('connection id')
#     declared at pipelines/a_port_among_jdbc.py:5
