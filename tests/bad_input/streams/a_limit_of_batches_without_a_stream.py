from graph_compiler import Kafka, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(
    Kafka("orders", bootstrap_servers="broker:9092", options={"maxOffsetsPerTrigger": 1000}), "orders"
)
orders.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/a_limit_of_batches_without_a_stream.py: pipeline 'sales' has 1 problem
#   orders: its options have maxOffsetsPerTrigger, and Spark would ignore it
#     allowed: on a stream: unbounded=True
#     declared at pipelines/a_limit_of_batches_without_a_stream.py:4
