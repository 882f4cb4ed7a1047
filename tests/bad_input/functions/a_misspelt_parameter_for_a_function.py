from graph_compiler import Csv, Parquet, StreamExecutionEnvironment, param


def clean(rows, threshold: int):
    return rows


env = StreamExecutionEnvironment("sales", params={"threshold": 3, "currency": "EUR"})
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.transform(clean, threshold=param("treshold")).sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_misspelt_parameter_for_a_function.py: pipeline 'sales' has 1 problem
#   Transform: parameter 'treshold' is not declared
#     allowed: threshold, currency and run_date
#     hint: did you mean 'threshold'?
#     declared at pipelines/a_misspelt_parameter_for_a_function.py:10
