from graph_compiler import Csv, Parquet, StreamExecutionEnvironment, param


def clean(rows, threshold: int):
    return rows


env = StreamExecutionEnvironment("sales", params={"threshold": 3, "currency": "EUR"})
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.transform(clean, threshold=param("currency")).sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_parameter_of_another_type_for_a_function.py: pipeline 'sales' has 1 problem
#   after 'orders': transform binds threshold to the parameter 'currency', which is 'EUR' by default, and clean takes threshold: int
#     allowed: a whole number
#     declared at pipelines/a_parameter_of_another_type_for_a_function.py:10
