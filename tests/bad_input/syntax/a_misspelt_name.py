from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
ordres.filter("x").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_misspelt_name.py: pipeline 'a_misspelt_name' has 1 problem
#   it cannot be loaded: `ordres.filter("x").sink_to(Parquet("/out"))` raised NameError: name 'ordres' is not defined
#     hint: did you mean 'orders'?
#     declared at pipelines/a_misspelt_name.py:5
