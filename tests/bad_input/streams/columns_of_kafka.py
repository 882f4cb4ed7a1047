from graph_compiler import Kafka, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(
    Kafka("orders", bootstrap_servers="broker:9092", schema="id INT"), "orders", unbounded=True
).uid("orders")
orders.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/columns_of_kafka.py: pipeline 'sales' has 1 problem
#   orders: it has a schema, and its columns are those of Spark's connector for Kafka
#     allowed: key, value, topic, partition, offset, timestamp, timestampType
#     hint: select(row="from_json(CAST(value AS STRING), 'id BIGINT', map('mode', 'FAILFAST'))")
#     declared at pipelines/columns_of_kafka.py:4
