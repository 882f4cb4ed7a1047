from graph_compiler import Csv, Parquet, StreamExecutionEnvironment


def clean(rows, threshold):
    return rows


env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.transform(clean).sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_function_of_too_many_arguments.py: pipeline 'sales' has 1 problem
#   after 'orders': transform calls its function with 1 argument, but this is clean(rows, threshold)
#     allowed: a function of 1 argument
#     hint: bind values or parameters of the pipeline by keyword: threshold=param("threshold")
#     declared at pipelines/a_function_of_too_many_arguments.py:10
