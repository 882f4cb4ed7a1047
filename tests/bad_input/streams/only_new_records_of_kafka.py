from graph_compiler import Kafka, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Kafka("orders", bootstrap_servers="broker:9092"), "orders", only_new=True).uid("orders")
orders.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/only_new_records_of_kafka.py: pipeline 'sales' has 1 problem
#   orders: only_new is set, and Kafka has no position
#     allowed: files: Csv, Json, Parquet, Orc, Text, Files of these and XML; Jdbc, by a column; Iceberg, Delta
#     hint: unbounded=True reads topics of Kafka as a stream; a filter on a column of times reads the rows of the run's own day
#     declared at pipelines/only_new_records_of_kafka.py:4
