from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Parquet("/b/out", options={"fs.s3a.access.key": "AKIA"})).name("report")
# graph-compiler validate says:
# pipelines/an_access_key_among_options.py: pipeline 'sales' has 1 problem
#   report: its option 'fs.s3a.access.key' stands in the declaration
#     allowed: Secret('connection id', 'password')
#     hint: whoever sees the code, the task or its logs would see it
#     declared at pipelines/an_access_key_among_options.py:5
