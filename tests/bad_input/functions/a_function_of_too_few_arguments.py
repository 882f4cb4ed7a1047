from graph_compiler import Csv, Parquet, StreamExecutionEnvironment


def clean(rows):
    return rows


env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.connect(orders).transform(clean).sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_function_of_too_few_arguments.py: pipeline 'sales' has 1 problem
#   after 'orders': transform calls its function with 2 arguments, but this is clean(rows)
#     allowed: a function of 2 arguments
#     declared at pipelines/a_function_of_too_few_arguments.py:10
