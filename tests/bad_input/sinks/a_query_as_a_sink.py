from graph_compiler import Csv, Jdbc, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Jdbc("jdbc:x", query="SELECT 1")).name("report")
# graph-compiler validate says:
# pipelines/a_query_as_a_sink.py: pipeline 'sales' has 1 problem
#   report: a query cannot be written
#     allowed: Parquet, Orc, Csv, Json, Text, Files, Jdbc with a table, Iceberg, Delta, Table, FunctionSink
#     declared at pipelines/a_query_as_a_sink.py:5
