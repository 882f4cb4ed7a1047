from graph_compiler import Csv, Range, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Range(0, 10)).name("numbers")
# graph-compiler validate says:
# pipelines/a_sink_that_can_only_be_read.py: pipeline 'sales' has 1 problem
#   numbers: Range can only be read
#     allowed: Parquet, Orc, Csv, Json, Text, Files, Jdbc with a table, Iceberg, Delta, Table, FunctionSink
#     declared at pipelines/a_sink_that_can_only_be_read.py:5
