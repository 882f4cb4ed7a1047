from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
customers = env.from_source(Csv("/in/customers.csv"))
customers.sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_source_without_a_name.py: pipeline 'sales' has 1 problem
#   from_source was called without source_name
#     allowed: from_source(source, source_name, only_new=False, lag=None, unbounded=False)
#     declared at pipelines/a_source_without_a_name.py:5
