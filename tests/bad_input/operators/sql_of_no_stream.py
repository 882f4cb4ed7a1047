from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
env.sql("SELECT 1").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/sql_of_no_stream.py: pipeline 'sales' has 1 problem
#   sql needs at least one stream
#     allowed: sql("… FROM {orders}", orders=stream)
#     declared at pipelines/sql_of_no_stream.py:5
