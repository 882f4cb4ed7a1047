from graph_compiler import Iceberg, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Iceberg("lake.shop.orders", schema="id INT"), "orders", unbounded=True).uid("orders")
orders.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/a_table_as_a_stream.py: pipeline 'sales' has 1 problem
#   orders: it never ends, and Iceberg is not read as a stream
#     allowed: files that arrive: Csv, Json, Parquet, Orc, Text, Files of these; Kafka, Rate
#     hint: only_new reads what is new, run by run, also from databases and tables
#     declared at pipelines/a_table_as_a_stream.py:4
