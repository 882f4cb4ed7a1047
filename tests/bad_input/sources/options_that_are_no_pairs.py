from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv", options=("sep", ";")), "orders")
orders.sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/options_that_are_no_pairs.py: pipeline 'sales' has 1 problem
#   orders: options is ('sep', ';')
#     allowed: a mapping: {"sep": ";"}
#     declared at pipelines/options_that_are_no_pairs.py:4
