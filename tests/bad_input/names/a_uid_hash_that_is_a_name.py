from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in"), "orders")
orders.filter("x").name("paid").uid_hash("paid").sink_to(Parquet("/out"))

# graph-compiler validate says:
# pipelines/a_uid_hash_that_is_a_name.py: pipeline 'sales' has 1 problem
#   after 'paid': uid_hash was given 'paid'
#     allowed: 32 hexadecimal digits
#     declared at pipelines/a_uid_hash_that_is_a_name.py:5
