from graph_compiler import Csv, FunctionSource, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
env.from_source(FunctionSource(lambda spark: spark.range(3)), "rows").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_function_source_of_a_lambda.py: pipeline 'sales' has 1 problem
#   FunctionSource cannot take this function: a lambda has no name; Spark imports functions by name, in another process
#     allowed: a function defined with `def` at the top level of an importable module
#     hint: move it to a module in pipelines/ and pass it by its name there
#     declared at pipelines/a_function_source_of_a_lambda.py:5
