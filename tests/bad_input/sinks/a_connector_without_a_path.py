from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Parquet())
# graph-compiler validate says:
# pipelines/a_connector_without_a_path.py: pipeline 'sales' has 1 problem
#   Parquet was called without path
#     allowed: Parquet(path, schema=None, on_schema_change=None, options=(), if_missing=None)
#     declared at pipelines/a_connector_without_a_path.py:5
