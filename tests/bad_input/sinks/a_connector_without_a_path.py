from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Parquet())
# graph-compiler validate says:
# pipelines/a_connector_without_a_path.py: pipeline 'a_connector_without_a_path' has 1 problem
#   it cannot be loaded: `orders.sink_to(Parquet())` raised TypeError: Parquet() missing 1 required positional argument: 'path'
#     allowed: Parquet(path, schema=None, on_schema_change=None, options=())
#     declared at pipelines/a_connector_without_a_path.py:5
