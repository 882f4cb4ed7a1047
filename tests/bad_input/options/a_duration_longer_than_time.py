from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"staging.ttl": "9999999999 d"})
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_duration_longer_than_time.py: pipeline 'sales' has 1 problem
#   option 'staging.ttl' is '9999999999 d'
#     allowed: at most 999999999 d
#     declared at pipelines/a_duration_longer_than_time.py:3
