from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
env.from_source("/in/more.csv", "more").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_path_for_a_connector.py: pipeline 'sales' has 1 problem
#   more: '/in/more.csv' is not a connector
#     allowed: Parquet(path), Csv(path), Jdbc(url, table=…), …
#     declared at pipelines/a_path_for_a_connector.py:5
