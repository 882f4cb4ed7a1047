from graph_compiler import Csv, Jdbc, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
env.from_source(Jdbc("jdbc:x", table="t", query="SELECT 1"), "both").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/table_and_query.py: pipeline 'sales' has 1 problem
#   both: it has table and query
#     allowed: table= or query=
#     declared at pipelines/table_and_query.py:5
