from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.cast([("day", "DATE")]).sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/cast_in_pairs.py: pipeline 'sales' has 1 problem
#   after 'orders': cast was given types=[('day', 'DATE')]
#     allowed: a mapping of names to text
#     declared at pipelines/cast_in_pairs.py:5
