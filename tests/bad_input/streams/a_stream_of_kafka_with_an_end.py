from graph_compiler import Kafka, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(
    Kafka("orders", bootstrap_servers="broker:9092", options={"endingOffsets": "latest"}), "orders", unbounded=True
).uid("orders")
orders.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/a_stream_of_kafka_with_an_end.py: pipeline 'sales' has 1 problem
#   orders: its options have endingOffsets, and a stream has no end
#     allowed: a source that ends: without unbounded=True
#     declared at pipelines/a_stream_of_kafka_with_an_end.py:4
