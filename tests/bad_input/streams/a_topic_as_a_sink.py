from graph_compiler import Kafka, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Kafka("orders", bootstrap_servers="broker:9092"), "orders", unbounded=True).uid("orders")
orders.sink_to(Kafka("copies", bootstrap_servers="broker:9092"), mode="append")
# graph-compiler validate says:
# pipelines/a_topic_as_a_sink.py: pipeline 'sales' has 1 problem
#   Sink: Kafka can only be read
#     allowed: Parquet, Orc, Csv, Json, Text, Files, Jdbc with a table, Iceberg, Delta, Table, FunctionSink
#     declared at pipelines/a_topic_as_a_sink.py:5
