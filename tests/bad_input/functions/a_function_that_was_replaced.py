from graph_compiler import Csv, Parquet, StreamExecutionEnvironment


def clean(rows):
    return rows


env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
first = clean
del clean
orders.transform(first).sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_function_that_was_replaced.py: pipeline 'sales' has 1 problem
#   after 'orders': transform cannot take this function: 'pipelines.a_function_that_was_replaced:clean' is a different object; Spark imports functions by name, in another process
#     allowed: a function defined with `def` at the top level of an importable module
#     hint: move it to a module in pipelines/ and pass it by its name there
#     declared at pipelines/a_function_that_was_replaced.py:12
