from graph_compiler import Csv, Files, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Files("/out", format="delta")).name("report")
# graph-compiler validate says:
# pipelines/a_table_format_as_files.py: pipeline 'sales' has 1 problem
#   report: a delta table cannot be written as files: delta, hudi and iceberg tables are files and a log. Iceberg(name) and Delta(path) write tables
#     allowed: Parquet, Orc, Csv, Json, Text, Files, Jdbc with a table, Iceberg, Delta, Table, FunctionSink
#     declared at pipelines/a_table_format_as_files.py:5
