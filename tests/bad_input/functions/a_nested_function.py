from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
def clean():
    def nested(rows):
        return rows
    return nested

orders.transform(clean()).sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_nested_function.py: pipeline 'sales' has 1 problem
#   after 'orders': transform cannot take this function: 'clean.<locals>.nested' is defined inside another function or class; Spark imports functions by name, in another process
#     allowed: a function defined with `def` at the top level of an importable module
#     hint: move it to a module in pipelines/ and pass it by its name there
#     declared at pipelines/a_nested_function.py:10
