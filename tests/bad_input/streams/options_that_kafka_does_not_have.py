from graph_compiler import Kafka, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(
    Kafka(
        "orders",
        bootstrap_servers="broker:9092",
        options={"startingOffset": "earliest", "subscribe": "others", "minOffsetsPerTrigger": 10},
    ),
    "orders",
    unbounded=True,
).uid("orders")
orders.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/options_that_kafka_does_not_have.py: pipeline 'sales' has 3 problems
#   orders: Spark's connector for Kafka has no option 'startingOffset', and Spark would ignore it
#     allowed: startingOffsets, startingOffsetsByTimestamp, endingOffsets and others: those of Spark's documentation
#     hint: did you mean 'startingOffsets'?
#     declared at pipelines/options_that_kafka_does_not_have.py:4
#   orders: it has option 'subscribe'
#     hint: Kafka("topic") names the topics
#     declared at pipelines/options_that_kafka_does_not_have.py:4
#   orders: it has option 'minOffsetsPerTrigger'
#     hint: a run publishes what is there, and waits for nothing
#     declared at pipelines/options_that_kafka_does_not_have.py:4
