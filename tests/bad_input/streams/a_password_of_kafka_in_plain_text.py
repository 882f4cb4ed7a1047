from graph_compiler import Kafka, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(
    Kafka(
        "orders",
        bootstrap_servers="broker:9093",
        options={"kafka.security.protocol": "SASL_SSL", "kafka.sasl.jaas.config": "… password='secret';"},
    ),
    "orders",
    unbounded=True,
).uid("orders")
orders.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/a_password_of_kafka_in_plain_text.py: pipeline 'sales' has 1 problem
#   orders: its option 'kafka.sasl.jaas.config' is in the declaration in plain text
#     allowed: Secret('connection id', 'password')
#     hint: anyone who can see the code, the task or its logs could read it; keep it in an Airflow connection
#     declared at pipelines/a_password_of_kafka_in_plain_text.py:4
