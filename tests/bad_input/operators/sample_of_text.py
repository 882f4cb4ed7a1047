from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sample("10%").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/sample_of_text.py: pipeline 'sales' has 1 problem
#   after 'orders': sample was given fraction='10%'
#     allowed: a number
#     declared at pipelines/sample_of_text.py:5
