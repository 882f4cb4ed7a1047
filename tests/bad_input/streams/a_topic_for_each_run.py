from graph_compiler import Kafka, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(
    Kafka("orders-{{ ds }}", bootstrap_servers="broker:9092"), "orders", unbounded=True
).uid("orders")
orders.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/a_topic_for_each_run.py: pipeline 'sales' has 1 problem
#   orders: it never ends, and has a template (orders-{{ ds }}): each run could have another one
#     allowed: topics and servers without templates
#     declared at pipelines/a_topic_for_each_run.py:4
