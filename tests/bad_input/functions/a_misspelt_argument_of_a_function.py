from graph_compiler import Csv, Parquet, StreamExecutionEnvironment, param


def clean(rows, threshold: int):
    return rows


env = StreamExecutionEnvironment("sales", params={"threshold": 3, "currency": "EUR"})
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.transform(clean, treshold=param("threshold")).sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_misspelt_argument_of_a_function.py: pipeline 'sales' has 1 problem
#   after 'orders': transform binds 'treshold', but its function is clean(rows, threshold)
#     allowed: threshold
#     hint: did you mean 'threshold'?
#     declared at pipelines/a_misspelt_argument_of_a_function.py:10
