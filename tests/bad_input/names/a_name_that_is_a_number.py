from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.filter("x").name(7).sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_name_that_is_a_number.py: pipeline 'sales' has 1 problem
#   after 'Filter': name was given name=7
#     allowed: text
#     declared at pipelines/a_name_that_is_a_number.py:5
