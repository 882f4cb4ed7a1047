from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.transform("pipelines.helpers:clean").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_name_for_a_function.py: pipeline 'sales' has 1 problem
#   after 'orders': transform cannot take this function: 'pipelines.helpers:clean' is not a plain function; Spark imports functions by name, in another process
#     allowed: a function defined with `def` at the top level of an importable module
#     hint: move it to a module in pipelines/ and pass it by its name there
#     declared at pipelines/a_name_for_a_function.py:5
