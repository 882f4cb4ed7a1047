from graph_compiler import Jdbc, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Jdbc("jdbc:postgresql://db/shop", table="orders", schema="id INT"), "orders", unbounded=True).uid("orders")
orders.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/a_database_as_a_stream.py: pipeline 'sales' has 1 problem
#   orders: it never ends, and Jdbc is not read as a stream
#     allowed: files that arrive: Csv, Json, Parquet, Orc, Text, Files of these; Kafka, Iceberg, Delta, Rate; FunctionSource, for other formats of spark.readStream
#     hint: only_new reads what is new, run by run, also from databases
#     declared at pipelines/a_database_as_a_stream.py:4
