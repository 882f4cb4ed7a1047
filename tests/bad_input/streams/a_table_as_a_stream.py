from graph_compiler import Parquet, StreamExecutionEnvironment, Table

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Table("shop.orders"), "orders", unbounded=True).uid("orders")
orders.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/a_table_as_a_stream.py: pipeline 'sales' has 1 problem
#   orders: it never ends, and Table is not read as a stream
#     allowed: files that arrive: Csv, Json, Parquet, Orc, Text, Files of these; Kafka, Iceberg, Delta, Rate; FunctionSource, for other formats of spark.readStream
#     hint: only_new reads what is new, run by run, also from databases
#     declared at pipelines/a_table_as_a_stream.py:4
