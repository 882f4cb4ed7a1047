from graph_compiler import Kafka, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Kafka(["orders of day", "orders"], bootstrap_servers=" "), "orders", unbounded=True).uid("orders")
orders.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/a_topic_that_cannot_be.py: pipeline 'sales' has 2 problems
#   orders: no topic of Kafka has the name 'orders of day'
#     allowed: letters, digits, '.', '_' and '-', at most 249; several topics as a list
#     declared at pipelines/a_topic_that_cannot_be.py:4
#   orders: its bootstrap_servers are empty
#     allowed: host:port, several with commas
#     declared at pipelines/a_topic_that_cannot_be.py:4
