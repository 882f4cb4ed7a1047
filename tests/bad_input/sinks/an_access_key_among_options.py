from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Parquet("/b/out", options={"fs.s3a.access.key": "AKIA"})).name("report")
# graph-compiler validate says:
# pipelines/an_access_key_among_options.py: pipeline 'sales' has 1 problem
#   report: option 'fs.s3a.access.key' holds a secret in plain text
#     allowed: Secret('connection id', 'password')
#     hint: anyone who can see the code, the task or its logs could read it
#     declared at pipelines/an_access_key_among_options.py:5
