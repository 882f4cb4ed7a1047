from graph_compiler import Csv, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to("/out").name("report")
# graph-compiler validate says:
# pipelines/a_dataframe_for_a_sink.py: pipeline 'sales' has 1 problem
#   report: '/out' is not a connector
#     allowed: Parquet(path), Csv(path), Jdbc(url, table=…), …
#     declared at pipelines/a_dataframe_for_a_sink.py:5
