from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.join(orders, on=1).sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/join_on_a_number.py: pipeline 'sales' has 1 problem
#   after 'orders': join was given on=1
#     allowed: text, or several values, each text, or a mapping of names to text
#     declared at pipelines/join_on_a_number.py:5
